"""First lines of docstrings name their subject; methods are called by their full names."""

import inspect
import re
from collections.abc import Iterator

import pytest

from ldr.objectives import REGISTRY
from tests.words import HEADLESS, VAGUE, VERBS, docstrings, public_callables, sentences


def first_lines() -> Iterator[tuple[str, str]]:
    for name, text in docstrings():
        yield name, text.splitlines()[0]


def test_first_lines_have_a_subject():
    assert [place for place, line in first_lines() if HEADLESS.match(line)] == []


def test_few_first_lines_have_words_that_stand_for_others():
    lines = [line for _, line in first_lines()]
    vague = [line for line in lines if VAGUE.search(line)]
    assert len(vague) <= 0.05 * len(lines), vague


def test_public_callables_are_described_in_one_line():
    for name, value in public_callables().items():
        line = (inspect.getdoc(value) or "").partition("\n")[0]
        assert 0 < len(line) <= 88, (name, line)
        if inspect.isfunction(value):
            assert VERBS.match(line), (name, line, "begin with an imperative")


def test_methods_are_called_by_their_full_names():
    acronyms = {"DA", "FA", "ICA", "LDA", "PCA", "CCA", "MDS", "MAF", "SFA", "PLS", "SIR", "CSP"}
    for name, method in REGISTRY.items():
        line = (method.__doc__ or "").partition("\n")[0].partition(":")[0]
        assert len(re.findall(r"[a-z]{4}|MAX[A-Z]{3}", line)) > 0, (name, line)
        for acronym in acronyms & set(re.findall(r"\w+", line)):
            assert f"({acronym})" in line or f"({acronym} " in line or "generalised CCA" in line, (
                line
            )


@pytest.mark.slow
def test_sentences_of_every_kind_are_found():
    assert min(map(len, sentences().values())) > 200
