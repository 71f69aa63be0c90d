"""Each test process keeps to one BLAS thread: the processes are what runs side by side."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
