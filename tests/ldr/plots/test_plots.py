"""Plots show the projected numbers, in figures that leak into nothing."""

import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer

import ldr
from ldr import plots
from tests.real_data import digits, stocks, tumour_views, wine

X, labels = wine()
names = np.array(["first", "second", "third"])[labels]


def scattered(ax):
    """All points of the scatter plots in a panel."""
    return np.vstack([np.asarray(c.get_offsets()) for c in ax.collections])


def sorted_rows(points):
    return points[np.lexsort(np.asarray(points).T)]


def panels(figure):
    return [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]


def legend_texts(figure):
    legends = list(figure.legends) + [e for sub in figure.subfigs for e in sub.legends]
    return [text.get_text() for legend in legends for text in legend.get_texts()]


def draws(figure):
    """Drawing succeeds and nothing is cut off at the top or the sides."""
    figure.canvas.draw()
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    return (
        box.x0 >= -0.02 and box.y0 >= -0.02 and box.x1 <= width + 0.02 and box.y1 <= height + 0.02
    )


@pytest.mark.parametrize("r", [1, 2, 3, 5])
def test_projection_has_the_panels_it_should(r):
    result = ldr.solve("orthogonal-lda", X, r, y=names)
    figure = plots.projection(result, X, names)
    assert len(panels(figure)) == {1: 1, 2: 1, 3: 9, 5: 16}[r]
    assert legend_texts(figure) == ["first", "second", "third"]
    assert figure.get_suptitle() == ("4 of 5 components" if r == 5 else "")
    assert draws(figure)


@pytest.mark.smoke
def test_scatter_shows_the_projected_rows():
    result = ldr.solve("orthogonal-lda", X, 2, y=labels)
    (ax,) = panels(result.plot_projection(X, labels))
    np.testing.assert_allclose(sorted_rows(scattered(ax)), sorted_rows(result.transform(X)))
    for code, points in enumerate(ax.collections):
        rows = np.flatnonzero(labels == code)
        np.testing.assert_allclose(points.get_offsets(), result.transform(X[rows]))


def test_histogram_counts_every_row():
    result = ldr.solve("orthogonal-lda", X, 1, y=labels)
    (ax,) = panels(result.plot_projection(X, labels))
    widths = np.histogram_bin_edges(result.transform(X), bins=13)
    step = widths[1] - widths[0]
    area = 0.0
    for patch in ax.patches:
        x, y = np.asarray(patch.get_xy()).T
        area += abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])) / 2
    assert area / step == pytest.approx(len(X))


def test_each_of_several_views_is_drawn_against_the_first():
    rng = np.random.default_rng(0)
    X = tuple(rng.standard_normal((30, d)) for d in (4, 3, 5))
    result = ldr.solve("mcca", X, 2)
    panels = ldr.plots.projection(result, X).axes
    Y = result.transform(X)
    assert len(panels) == 4
    for panel, (view, k) in zip(panels, ((1, 0), (1, 1), (2, 0), (2, 1)), strict=True):
        drawn = panel.collections[0].get_offsets()
        np.testing.assert_allclose(drawn, np.column_stack([Y[0][:, k], Y[view][:, k]]))
    named = dict(zip(("measurements", "errors", "extremes"), X, strict=True))
    figure = ldr.solve("maxbet", named, 2).plot_projection(named)
    figure.draw_without_rendering()
    for ax in figure.axes:
        whole = ax.get_tightbbox()
        others = [other.get_tightbbox() for other in figure.axes if other is not ax]
        assert not any(whole.overlaps(other) for other in others)


def test_two_views_are_drawn_as_pairs():
    views = tumour_views()
    result = ldr.solve("orthogonal-cca", views, 2)
    figure = result.plot_projection(views)
    a, b = result.transform(views)
    assert len(panels(figure)) == 2
    for k, ax in enumerate(panels(figure)):
        np.testing.assert_allclose(scattered(ax), np.column_stack([a[:, k], b[:, k]]))
        correlation = np.corrcoef(a[:, k], b[:, k])[0, 1]
        assert ax.get_title() == f"correlation {correlation:.3f}"
    assert draws(figure)
    constant = result.plot_projection(tuple(np.ones((5, view.shape[1])) for view in views))
    assert [ax.get_title() for ax in panels(constant)] == ["", ""]


def test_quantities_get_a_colour_bar_and_labels_a_legend():
    result = ldr.solve("pca", X, 2)
    quantity = plots.projection(result, X, X[:, 0])
    assert len(quantity.axes) == 2 and legend_texts(quantity) == []
    assert len(plots.projection(result, X, labels).axes) == 1
    assert len(plots.projection(result, X).axes) == 1


def test_a_y_of_trials_or_of_several_responses_colours_samples():
    responses = pd.DataFrame(X[:, :2], columns=["sugar", "acid"])
    figure = ldr.solve("pls-regression", X, 2, y=responses).plot_projection(X, responses)
    np.testing.assert_array_equal(panels(figure)[0].collections[0].get_array(), X[:, 0])
    assert figure.axes[1].get_ylabel() == "sugar"
    trials, hand = ldr.trials(X[:170].T.reshape(13, 10, 17).transpose(1, 0, 2)), ["a", "b"] * 5
    figure = ldr.solve("csp", trials, 2, y=hand).plot_projection(trials, hand)
    assert legend_texts(figure) == ["a", "b"]


def test_time_series_are_coloured_by_row():
    returns = stocks()
    figure = ldr.solve("orthogonal-maf", returns, 2).plot_projection(returns)
    np.testing.assert_array_equal(
        panels(figure)[0].collections[0].get_array(), np.arange(len(returns))
    )
    assert figure.axes[1].get_ylabel() == "row"


def test_many_classes_fit():
    rng = np.random.default_rng(0)
    Z, y = rng.standard_normal((400, 4)), np.array([f"class {k:03d}" for k in range(100)] * 4)
    figure = plots.projection(ldr.solve("pca", Z, 2), Z, y)
    assert len(legend_texts(figure)) == 40
    assert figure.legends[0].get_title().get_text() == "and 60 more"
    assert draws(figure)


def test_dollars_in_names_are_no_formulas(tmp_path):
    names = np.array(["$a_$", "5$ to 10$", "b\\$^^"])
    y = names[np.arange(len(X)) % 3]
    frame = pd.DataFrame(X, columns=[f"$x_{j}^$" for j in range(X.shape[1])])
    result = ldr.solve("orthogonal-lda", frame, 2, y=y)
    figure = result.plot_projection(frame, y)
    drawn = [text._preprocess_math(text.get_text()) for text in figure.legends[0].get_texts()]
    assert drawn == [(name, False) for name in np.unique(y)]
    for picture in (figure, plots.loadings(result), plots.improvement(result, ["$a_$"])):
        picture.savefig(tmp_path / "names.png")


def test_new_rows_of_one_class_can_be_drawn():
    result = ldr.solve("orthogonal-lda", X, 2, y=names)
    assert legend_texts(plots.projection(result, X[:5], names[:5])) == ["first"]


def test_ax_is_drawn_into_and_its_figure_returned():
    figure = Figure()
    left, right = figure.subplots(1, 2)
    result = ldr.solve("orthogonal-lda", X, 2, y=names)
    assert result.plot_projection(X, names, ax=left) is figure
    assert len(left.collections) == 3 and not right.collections
    assert [t.get_text() for t in left.get_legend().get_texts()] == ["first", "second", "third"]


def test_bad_arguments_are_refused():
    result = ldr.solve("orthogonal-lda", X, 3, y=names)
    ax = Figure().subplots()
    with pytest.raises(ldr.errors.ArgumentError, match="takes one panel"):
        plots.projection(result, X, ax=ax)
    with pytest.raises(ldr.errors.ArgumentError, match="2 Axes"):
        plots.convergence(result, ax=ax)
    with pytest.raises(ldr.errors.DataError, match=r"y has shape \(3,\), expected \(178,\)"):
        plots.projection(result, X, [1, 2, 3])
    with pytest.raises(ldr.errors.ArgumentError, match="expected 13"):
        plots.projection(result, X[:, :5])


@pytest.mark.parametrize("solver", ["pymanopt:trust-region", "self-consistent-field"])
def test_convergence_shows_the_history(solver):
    result = ldr.solve(
        "orthogonal-lda", X, 2, y=labels, solver=solver, start="random", random_state=0
    )
    figure = result.plot_convergence()
    left, right = figure.axes
    values = np.array(result.history["value"])
    gap = values.max() - values
    shown = left.lines[0].get_ydata()
    np.testing.assert_allclose(shown[gap > 1e-14], gap[gap > 1e-14])
    assert np.all(shown > 0) and left.get_yscale() == right.get_yscale() == "log"
    assert left.lines[0].get_xdata()[-1] == result.iterations
    np.testing.assert_allclose(right.lines[0].get_ydata(), result.history["gradient_norm"])
    assert draws(figure)


def test_convergence_of_a_closed_form_is_a_point():
    result, figure = ldr.solve("pca", X, 2), Figure()
    assert result.plot_convergence(ax=figure.subplots(1, 2)) is figure
    left, right = figure.axes
    assert list(left.lines[0].get_ydata()) == [result.value]
    assert len(right.lines[0].get_ydata()) == 1
    still = ldr.solve("opca", (X[:, :2], X[:, 1:3]), 2, solver="trust-region")  # of one point
    assert still.plot_convergence().axes[1].get_yscale() == "linear"  # whose gradient is zero


@pytest.mark.parametrize("r", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_compare_shows_both_on_the_same_scales(r):
    result = ldr.solve("orthogonal-lda", X, r, y=names)
    figure = plots.compare(result, X, names)
    assert draws(figure)
    left, right, _ = figure.subfigs
    for one, other in zip(left.axes, right.axes, strict=True):
        assert one.get_xlim() == pytest.approx(other.get_xlim())
    if r == 2:
        np.testing.assert_allclose(
            sorted_rows(scattered(left.axes[0])),
            sorted_rows((X - X.mean(axis=0)) @ result.baseline_M),
            atol=1e-12,
        )
        np.testing.assert_allclose(
            sorted_rows(scattered(right.axes[0])), sorted_rows(result.transform(X))
        )
    assert left.get_suptitle() == f"baseline: {result.baseline:.6g}"
    assert f"{result.value:.6g}, improvement {result.improvement:+.3g}" in right.get_suptitle()


def test_pyplot_is_not_used():
    loaded = "matplotlib.pyplot" in sys.modules
    backend = matplotlib.rcParams._get("backend")
    ldr.solve("orthogonal-lda", X, 2, y=labels).plot_projection(X, labels).canvas.draw()
    assert ("matplotlib.pyplot" in sys.modules) == loaded
    assert matplotlib.rcParams._get("backend") is backend


def test_loadings_are_the_map():
    frame = pd.DataFrame(X, columns=[f"measurement {j}" for j in range(13)])
    result = ldr.solve("orthogonal-lda", frame, 2, y=names)
    figure = plots.loadings(result)
    panel = panels(figure)[0]
    np.testing.assert_array_equal(panel.images[0].get_array(), result.P.T)
    assert [text.get_text() for text in panel.get_yticklabels()] == list(frame.columns)
    low, high = panel.images[0].get_clim()
    assert low == -high == -np.abs(result.P).max()  # white is zero
    assert draws(figure)


def test_loadings_of_divided_columns_are_in_no_unit():
    X, _ = wine()
    units = 10.0 ** np.arange(-6, 7)
    first, second = (ldr.solve("pca", rows, 2, standardise=True) for rows in (X, X * units))
    left, right = (
        plots.loadings(result).axes[0].images[0].get_array() for result in (first, second)
    )
    np.testing.assert_allclose(left, right, atol=1e-8)
    np.testing.assert_allclose(left, first.M, atol=1e-12)


def test_loadings_of_many_features_are_the_longest():
    Z = digits()[0]
    result = ldr.solve("pca", Z, 3)
    panel = panels(plots.loadings(result))[0]
    shown = [int(text.get_text().split()[1]) for text in panel.get_yticklabels()]
    assert len(shown) == 40 and shown == sorted(shown)
    lengths = np.linalg.norm(result.P, axis=0)
    assert lengths[shown].min() >= np.delete(lengths, shown).max()
    assert panel.get_title() == "40 of 64 features"


def test_loadings_of_two_views_share_a_scale():
    result = ldr.solve("orthogonal-cca", tumour_views(), 2)
    left, right = panels(plots.loadings(result))
    assert left.images[0].get_clim() == right.images[0].get_clim()
    np.testing.assert_array_equal(right.images[0].get_array(), result.P[1].T)


def test_space_shows_three_coordinates():
    result = ldr.solve("pca", X, 3)
    figure = plots.space(result, X, names)
    ax = panels(figure)[0]
    shown = np.vstack([np.column_stack(points._offsets3d) for points in ax.collections])
    np.testing.assert_allclose(sorted_rows(shown), sorted_rows(result.transform(X)))
    assert legend_texts(figure) == ["first", "second", "third"]
    assert len(plots.space(result, X, X[:, 0]).axes) == 2  # a colour bar
    assert draws(figure)
    for wrong, data in (
        (ldr.solve("pca", X, 2), X),
        (ldr.solve("orthogonal-cca", tumour_views(), 3), tumour_views()),
    ):
        with pytest.raises(ldr.errors.ArgumentError, match="one view and r >= 3"):
            plots.space(wrong, data)


def test_improvement_has_a_bar_a_result():
    results = [
        ldr.solve("orthogonal-lda", X, 2, y=labels),
        ldr.solve("orthogonal-maf", stocks(), 3),
    ]
    ax = plots.improvement(results, ["wine", "stocks"]).axes[0]
    assert [bar.get_width() for bar in ax.patches] == [r.improvement for r in results]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["wine", "stocks"]
    assert f"{results[0].baseline:.6g} to {results[0].value:.6g}" in ax.texts[0].get_text()
    assert draws(plots.improvement(results[0]))
    with pytest.raises(ldr.errors.ArgumentError, match="names has 1 entries"):
        plots.improvement(results, ["wine"])
    without = ldr.solve(ldr.objective(lambda M, X: ((X @ M) ** 4).sum()), X[:, :3], 1)
    for draw in (plots.improvement, lambda result: plots.compare(result, X[:, :3])):
        with pytest.raises(ldr.errors.ArgumentError, match="has no baseline"):
            draw(without)
    assert draws(plots.convergence(without))  # a line for it there is not


def test_axes_say_what_the_coordinates_are_worth():
    result = ldr.solve("pca", X, 2)
    shares = result.components["explained_variance_ratio"]
    (ax,) = panels(result.plot_projection(X))
    assert ax.get_xlabel() == f"$y_{{1}}$, {shares.iloc[0]:.1%} of the variance"
    slices = ldr.solve("sir", X[:, :5], 1, y=X[:, 5])  # P is not orthonormal: its own number
    (ax,) = panels(slices.plot_projection(X[:, :5]))
    assert ax.get_xlabel().startswith(f"$y_{{1}}$, eigenvalue {slices.value:.4g}")


def test_names_of_y_and_dates_are_written():
    y = pd.Series(names, name="cultivar")
    figure = ldr.solve("orthogonal-lda", X, 2, y=y).plot_projection(X, y)
    assert figure.legends[0].get_title().get_text() == "cultivar"
    days = pd.date_range("2020-01-01", periods=60)
    walk = pd.DataFrame(np.random.default_rng(0).standard_normal((60, 3)).cumsum(0), index=days)
    (ax,) = panels(ldr.solve("orthogonal-maf", walk, 1).plot_projection(walk))
    assert ax.get_xlabel() == "date" and draws(ax.figure)
    assert {text.get_text() for text in ax.get_xticklabels()} & {"Jan", "Feb", "2020-Jan"}
    assert ldr.solve("orthogonal-maf", walk, 2).plot_projection(walk).axes[1].get_ylabel() == "date"
    dated = ldr.solve("pca", walk, 2).plot_projection(walk, days.to_numpy()[:, None])
    assert dated.axes[1].get_label() == "<colorbar>" and draws(dated)


@pytest.mark.parametrize("wavelengths", [True, False])
def test_loadings_of_spectra_are_lines(wavelengths):
    S = np.random.default_rng(0).standard_normal((30, 120))
    columns = [f"{400 + 2.5 * k}" if wavelengths else f"channel {k}" for k in range(120)]
    result = ldr.solve("pca", pd.DataFrame(S, columns=columns), 2)
    figure = plots.loadings(result)
    lines = figure.axes[0].lines[:2]
    for line, row in zip(lines, result.P, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), row)
    assert lines[0].get_xdata()[0] == (400.0 if wavelengths else 0.0)
    assert draws(figure)


def test_arrows_are_correlations_of_columns_with_coordinates():
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(13)])
    result = ldr.solve("pca", frame, 2)
    figure = plots.correlation_circle(result, frame)
    ends = {t.get_text(): t.xy for t in figure.axes[0].texts if t.get_text()}
    Y = result.transform(X)
    for j in range(13):
        expected = [np.corrcoef(X[:, j], Y[:, k])[0, 1] for k in range(2)]
        np.testing.assert_allclose(ends[f"c{j}"], expected, rtol=1e-10)
    both = plots.biplot(result, frame, pd.Series(labels))
    ends_of_biplot = {t.get_text(): t.xy for t in both.axes[0].texts if t.get_text()}
    ratios = np.divide(ends_of_biplot["c0"], ends["c0"])
    assert ratios[0] == pytest.approx(ratios[1]) and draws(both) and draws(figure)
    ax = Figure().subplots()
    within = plots.biplot(result, frame, pd.Series(X[:, 0]), ax=ax)
    assert within is ax.figure and [each.get_label() for each in within.axes][1:] == ["<colorbar>"]
    assert plots.correlation_circle(result, frame, ax=Figure().subplots()).axes
    with pytest.raises(ldr.errors.ArgumentError, match="r >= 2"):
        plots.biplot(ldr.solve("pca", X, 1), X)


@pytest.mark.parametrize("draw", [plots.biplot, plots.correlation_circle])
def test_names_of_arrows_are_inside_the_axes_and_on_lines_of_their_own(draw):
    frame = load_breast_cancer(as_frame=True).data
    figure = draw(ldr.solve("pca", frame, r=2, standardise=True), frame)
    figure.draw_without_rendering()
    ax = figure.axes[0]
    names = [text for text in ax.texts if text.get_text()]
    boxes = [text.get_window_extent() for text in names]
    assert len(boxes) == 14
    for k, box in enumerate(boxes):
        assert ax.bbox.x0 <= box.x0 and box.x1 <= ax.bbox.x1
        assert not any(abs(box.y0 - other.y0) < 9.0 and box.overlaps(other) for other in boxes[:k])


def test_whole_numbers_are_written_as_such():
    """Years, of which 1952.5 is none."""
    X, years = np.random.default_rng(0).standard_normal((20, 3)), np.arange(1935.0, 1955.0)
    figure = ldr.solve("pca", X, r=1).plot_projection(X, years)
    figure.draw_without_rendering()
    assert all(tick == round(tick) for tick in figure.axes[0].get_yticks())


def test_ends_of_intervals_have_room_for_their_numbers():
    X = np.random.default_rng(0).standard_normal((30, 3)) * [1e5, 10, 1]
    figure = plots.intervals(ldr.bootstrap("pca", X, 1, draws=5, random_state=0))
    assert len(figure.axes[0].get_xticks()) <= 6
