"""Real data that come with scikit-learn and matplotlib; nothing is downloaded."""

import csv
from functools import cache

import numpy as np
import statsmodels.datasets
from matplotlib import cbook
from sklearn import datasets

import ldr


def standardised(X):
    sd = X.std(axis=0)
    return (X[:, sd > 0] - X[:, sd > 0].mean(axis=0)) / sd[sd > 0]


def by_time(X):
    """Trials whose axes are (times, channels)."""
    return ldr.trials(X, "times, channels")


@cache
def wine():
    """178 wines, 13 measurements, 3 cultivars."""
    X, y = datasets.load_wine(return_X_y=True)
    return standardised(X), y


@cache
def breast_cancer():
    """569 tumours, 30 measurements, 2 diagnoses; as measured, condition number 6e11."""
    return datasets.load_breast_cancer(return_X_y=True)


@cache
def digits():
    """1797 digits of 8 x 8 pixels, 3 of which are constant."""
    return datasets.load_digits(return_X_y=True)


@cache
def pixels():
    """Which pixels of 300 digits are bright, of those that are not always or never."""
    X = (digits()[0][:300] > 8).astype(float)
    return X[:, (X.mean(axis=0) > 0.1) & (X.mean(axis=0) < 0.9)]


@cache
def diabetes():
    """442 patients, 10 measurements, a disease score."""
    return datasets.load_diabetes(return_X_y=True)


@cache
def linnerud():
    """20 men: 3 exercises, 3 physiological measurements."""
    data = datasets.load_linnerud()
    return data.data, data.target


def longley(response=True):
    """16 years of the labour market: 6 nearly collinear columns, and employment before them."""
    table = statsmodels.datasets.longley.load_pandas()
    return table.data if response else table.exog


@cache
def tumour_views():
    """breast_cancer's mean measurements beside its worst ones, standardised: two views."""
    X = standardised(breast_cancer()[0])
    return X[:, :10], X[:, 20:]


def three_tumour_views():
    """breast_cancer's means, errors and extremes, standardised: three views."""
    X = standardised(breast_cancer()[0])
    return X[:, :10], X[:, 10:20], X[:, 20:]


@cache
def stocks():
    """Monthly log returns of the five stocks and two indices that were listed from 1990 to 2022."""
    with cbook.get_sample_data("Stocks.csv", asfileobj=True) as file:
        lines = [line.decode() if isinstance(line, bytes) else line for line in file]
    header, *rows = csv.reader(line for line in lines if not line.startswith("#"))
    listed = [j for j in range(1, len(header)) if sum(not row[j] for row in rows) < 150]
    rows = [row for row in rows if all(row[j] for j in listed)]
    prices = np.array([[float(row[j]) for j in listed] for row in rows])
    return np.diff(np.log(prices), axis=0)


@cache
def elevation():
    """A digital elevation model: 344 lines from north to south, every tenth column."""
    with cbook.get_sample_data("jacksboro_fault_dem.npz") as dem:
        return dem["elevation"][:, ::10].astype(float)


@cache
def strips():
    """Sixty strips of two photographs, fourteen lines of sixteen pixels each; which of the two."""
    lines = [image[:420, ::40, 1].astype(float) for image in datasets.load_sample_images().images]
    centred = [each - each.mean(axis=0) for each in lines]
    return np.concatenate(centred).reshape(60, 14, 16), np.repeat([0, 1], 30)
