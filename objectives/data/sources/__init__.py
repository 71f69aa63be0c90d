"""Where rows larger than memory are stored; each source reads a stretch of rows when asked."""

from ldr.objectives.data.sources.columns import Columns, Scaled
from ldr.objectives.data.sources.head import SEPARATORS, Head
from ldr.objectives.data.sources.memory_map import MemoryMap
from ldr.objectives.data.sources.npy import NpyFile
from ldr.objectives.data.sources.parquet import ParquetFile
from ldr.objectives.data.sources.source import Source, TableSource, pieces_along
from ldr.objectives.data.sources.stack import InMemory, Stack
from ldr.objectives.data.sources.text import TextFile, typed

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
    "typed",
]
