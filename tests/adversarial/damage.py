"""Files that lost or changed some bytes: each is answered, or refused by an error of ldr.errors.

    python -m tests.adversarial.damage KIND COUNT

prints what ended otherwise, a damage a line; nothing else may come on stderr. KIND is one of
`KINDS`. Each damage is made of its number, so that a failure can be repeated alone.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import ldr
import ldr.errors
from tests.adversarial.campaign import generator

ROWS = 60
WORDS = [b"", b"\x00", b"\xff\xfe", b'"', b"\n", b"1e400", b"-", b",,", b"{", b"PK", b"9" * 400]


def rows() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((ROWS, 5))


def model(path: Path) -> None:
    y = np.array(["oak", "ash", "elm"])[np.arange(ROWS) % 3]
    ldr.solve("orthogonal-lda", rows(), 2, y=y, standardise=True).save(path)


def loaded(path: Path) -> None:
    ldr.load(path).transform(rows())


def solved(path: Path) -> None:
    ldr.solve("pca", path, 2, certify=False)


def as_frame() -> pd.DataFrame:
    return pd.DataFrame(rows(), columns=list("abcde"))


KINDS: dict[str, tuple[str, Callable[[Path], None], Callable[[Path], None]]] = {
    "model": ("model.npz", model, loaded),
    "npy": ("rows.npy", lambda path: np.save(path, rows()), solved),
    "csv": ("rows.csv", lambda path: as_frame().to_csv(path, index=False), solved),
    "parquet": (
        "rows.parquet",
        lambda path: as_frame().to_parquet(path, row_group_size=20),
        solved,
    ),
}


def damaged(whole: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes with one to three damages of different kinds, mostly near the ends."""
    found = bytearray(whole)
    for _ in range(rng.integers(1, 4)):
        size = max(1, len(found))
        near = int(rng.integers(0, min(400, size)))
        at = int(rng.choice([int(rng.integers(0, size)), near, size - 1 - near]))
        length = int(rng.integers(1, 1 + min(size, 2 ** int(rng.integers(0, 9)))))
        match int(rng.integers(0, 7)):
            case 0:
                del found[at:]
            case 1:
                found[at : at + 1] = bytes([found[at] ^ (1 << int(rng.integers(0, 8)))])
            case 2:
                found[at : at + length] = rng.bytes(length)
            case 3:
                found[at : at + length] = bytes(length)
            case 4:
                del found[at : at + length]
            case 5:
                found[at:at] = WORDS[int(rng.integers(0, len(WORDS)))]
            case 6:
                found[at:at] = found[at : at + length]
        if not found:
            break
    return bytes(found)


def main(kind: str, count: int) -> None:
    name, write, use = KINDS[kind]
    refusals = tuple(v for v in vars(ldr.errors).values() if isinstance(v, type))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        write(path)
        whole = path.read_bytes()
        for number in range(count):
            path.write_bytes(damaged(whole, generator("damage", kind, number)))
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                try:
                    use(path)
                except refusals:
                    pass
                except BaseException as error:
                    print(f"{kind} {number}: {type(error).__name__}: {str(error)[:200]}")
            for each in said:
                if not issubclass(each.category, refusals):
                    print(f"{kind} {number}: {each.category.__name__}: {str(each.message)[:200]}")
            assert os.listdir(folder) == [name]


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
