"""No input may lead to anything but a result or a refusal in words."""

import pytest

from tests.adversarial import fuzz
from tests.adversarial.campaign import SEED, count, report

CALLS = 5000
SLICE = 100


def faults(indices):
    return [fault for i in indices if (fault := fuzz.attack(i, SEED)) is not None]


def none(found, capfd):
    assert not found, report(found)
    printed = "".join(capfd.readouterr())
    assert " ** On entry" not in printed  # LAPACK's own words


def test_a_slice_of_the_calls(capfd):
    none(faults(range(SLICE)), capfd)


# What was raw before its cause was found.
ONCE_RAW = [(1014, 101), (95, 101), (2128, 31337), (2400, 101), (479, 20261), (3504, 102),
            (912, 90210), (4148, 90210), (216, 5150), (3191, 5150),
            (1606, 424242), (1057, 424242), (3440, 0), (3063, 0), (4174, 0),
            (321, 41017), (301, 71003), (4901, 71003)]  # fmt: skip
ONCE_RAW_BESIDE = [(1285, 2411), (1689, 2411), (2851, 2411), (501, 61124), (2961, 61124),
                   (431, 9001), (1040, 9002), (1444, 73), (565, 76),
                   (93, 91126), (2314, 91126), (376, 53111), (1951, 53111)]  # fmt: skip


@pytest.mark.parametrize(("index", "seed"), ONCE_RAW)
def test_what_was_once_raw(index, seed):
    assert fuzz.attack(index, seed, newer=False) is None


@pytest.mark.parametrize(("index", "seed"), ONCE_RAW_BESIDE)
def test_what_was_once_raw_of_all_calls(index, seed):
    assert fuzz.attack(index, seed) is None


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_all_calls(part, capfd):
    none(faults(range(part, count(CALLS), 10)), capfd)
