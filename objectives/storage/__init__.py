"""Where rows larger than memory are stored; each source reads a stretch of rows when asked."""

from ldr.objectives.storage.columns import Columns, Scaled
from ldr.objectives.storage.memory_map import MemoryMap
from ldr.objectives.storage.npy import NpyFile
from ldr.objectives.storage.parquet import ParquetFile
from ldr.objectives.storage.source import Source, TableSource, pieces_along
from ldr.objectives.storage.stack import InMemory, Stack
from ldr.objectives.storage.text import SEPARATORS, Head, TextFile

__all__ = [
    "SEPARATORS",
    "Columns",
    "Head",
    "InMemory",
    "MemoryMap",
    "NpyFile",
    "ParquetFile",
    "Scaled",
    "Source",
    "Stack",
    "TableSource",
    "TextFile",
    "pieces_along",
]
