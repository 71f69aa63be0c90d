"""The campaign: claims attacked with thousands of small, ugly problems.

    pytest -m slow tests/adversarial          # the whole campaign, under 20 minutes on two cores
    LDR_SEED=7 LDR_SIZE=0.1 pytest -m slow tests/adversarial -k certified

`LDR_SEED` chooses other problems (0 by default: the same ones every time), `LDR_SIZE` multiplies
their number. Every failure names what reproduces it. A slice of each runs by default.
"""
