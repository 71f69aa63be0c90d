from sklearn.datasets import load_sample_image

X = load_sample_image("china.jpg")[:, ::20, 1]  # 427 lines of a photograph, from top to bottom
