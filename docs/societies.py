"""Examples on data that others collected of economies, societies and the earth.

They come with statsmodels, which the documentation needs and the library does not.
"""

from docs.example import Example

EXAMPLES = (
    Example(
        "macro-slow",
        "What moves slowly in an economy",
        "Twelve quarterly series of the United States, 1959 to 2009: which combination remembers "
        "its past best?",
        """
import ldr
import statsmodels.api as sm

data = sm.datasets.macrodata.load_pandas().data
growth = data.drop(columns=["year", "quarter"]).diff().dropna()
result = ldr.solve("maf", growth, 2, standardise=True)
print(result)
figure = ldr.plots.correlation_circle(result, growth)
""",
        "The first two factors of growth remember a quarter of a year with correlations of .76 "
        "and .74. Population makes up one of them by itself; in the other growth of income, "
        "consumption and investment stands against that of unemployment: the business cycle.",
    ),
    Example(
        "elnino",
        "El Niño in two numbers a year",
        "Sixty-one years of monthly sea temperatures off Peru: how do years differ?",
        """
import ldr
import statsmodels.api as sm

data = sm.datasets.elnino.load_pandas().data
months, year = data.drop(columns="YEAR"), data["YEAR"]
result = ldr.solve("pca", months, 2)
print(result.components.round(3).to_string())
warm = year[result.transform(months).iloc[:, 0].nlargest(5).index]
print("warmest:", *sorted(warm.astype(int)))
figure = ldr.plots.biplot(result, months, year)
""",
        "Two numbers explain 87 % of the variance of twelve months. The first is how warm a year "
        "is, and its five largest years are those of the great El Niño events; the second sets "
        "the southern summer against the winter.",
    ),
    Example(
        "crime",
        "Factors behind crime in fifty-one states",
        "Do seven numbers of each state have few causes in common, and is Washington, D.C., one "
        "state like the others?",
        """
import ldr
import statsmodels.api as sm

data = sm.datasets.statecrime.load_pandas().data
for name, rows in (("all", data), ("without D.C.", data.drop(index="District of Columbia"))):
    result = ldr.solve("fa", rows, 2, standardise=True)
    loadings = result.rotate("varimax").M
    print(name, result.model.communalities.round(2))
figure = ldr.plots.loadings(result.rotate("varimax"))
""",
        "With Washington the factors are largely about one row: leaving it out, the communality "
        "of violent crime falls from .74 to .50. One column has communality 1, a Heywood case, so"
        " that two factors are as many as seven columns bear. Fit factors with and without what "
        "stands apart, and say both.",
    ),
    Example(
        "schools",
        "What goes with passing mathematics in California",
        "303 districts, twenty numbers of their pupils, teachers and money: in how few directions "
        "is what predicts the share that passes?",
        """
import ldr
import statsmodels.api as sm

data = sm.datasets.star98.load_pandas().data
y = (data["NABOVE"] / (data["NABOVE"] + data["NBELOW"])).rename("share above the median")
X = data.drop(columns=["NABOVE", "NBELOW"])
path = ldr.path("pls-regression", X, range(1, 9), y=y, folds=5, standardise=True, random_state=0)
print("best r:", path.best)
result = ldr.solve("pls-regression", X, 2, y=y, standardise=True)
figure = ldr.plots.biplot(result, X, y)
""",
        "Held-out districts are predicted best from six directions, of twenty columns that say "
        "much the same. The picture is of the first two: low income and the shares of minorities "
        "stand against the share that passes, which colours the rows.",
    ),
    Example(
        "votes",
        "What tells voters of Clinton and Dole apart",
        "944 answers to the election study of 1996. Is one direction enough, and is it more than "
        "chance?",
        """
import ldr
import statsmodels.api as sm

data = sm.datasets.anes96.load_pandas().data
vote = data["vote"].map({0.0: "Clinton", 1.0: "Dole"})
X = data[["TVnews", "selfLR", "ClinLR", "DoleLR", "PID", "age", "educ", "income", "logpopul"]]
result = ldr.solve("lda", X, 1, y=vote, standardise=True)
firm = ldr.bootstrap("lda", X, 1, y=vote, standardise=True, draws=60, random_state=0)
test = ldr.permutation_test("lda", X, 1, y=vote, standardise=True, random_state=0)
print(test)
figure = firm.plot_loadings()
""",
        "No permutation of the votes in 999 does as well. The intervals say that party and where "
        "voters place themselves and the two candidates carry the direction; age, income and the "
        "news on television hardly do.",
    ),
    Example(
        "fertility",
        "Births in 219 countries, with gaps",
        "Half a century of births a woman, 1542 cells empty: fill them in, and see how countries "
        "differ.",
        """
import numpy as np
import ldr
import statsmodels.api as sm

data = sm.datasets.fertility.load_pandas().data.set_index("Country Name")
births = data.loc[:, "1960":"2011"].dropna(how="all")
result = ldr.solve("ppca", births, 3)
hidden = births.mask(np.random.default_rng(0).random(births.shape) < 0.05)
filled = ldr.solve("ppca", hidden, 3).model.impute(hidden)
asked = hidden.isna() & births.notna()
error = np.sqrt(np.nanmean((np.asarray(filled) - births.to_numpy())[asked.to_numpy()] ** 2))
print(f"root mean square error of {int(asked.to_numpy().sum())} hidden cells {error:.2f}")
figure = ldr.plots.loadings(result)
""",
        "Three coordinates a country fill one cell in twenty that was hidden with an error of .18"
        " births, where countries differ by 2. The first is the level, the second the fall since "
        "1960.",
    ),
    Example(
        "longley",
        "Sixteen years, six columns that say the same",
        "Longley's data broke least-squares programs in 1967: what do certificates say of them?",
        """
import ldr
import statsmodels.api as sm

data = sm.datasets.longley.load_pandas()
result = ldr.solve("least-squares", data.exog, 1, y=data.endog)
exact = [15.0618722713733, -0.0358191792925910, -2.02022980381683]  # of NIST
print(result.certificate)
print([f"{m:.12g}" for m in result.M[:3, 0]], "NIST:", exact)
firm = ldr.bootstrap(
    "least-squares", data.exog, 1, y=data.endog, standardise=True, draws=60, random_state=0
)
figure = firm.plot_loadings()
""",
        "The coefficients have eleven of the digits that NIST certifies, and the certificate "
        "bounds what rounding may hide. The intervals say what digits do not: with columns that "
        "say the same, those of the deflator, the product and the population may be on either "
        "side of zero.",
    ),
    Example(
        "danish",
        "What pulls Danish money back",
        "Fifty-five quarters of money, income, prices and two interest rates: which combinations "
        "forget their past most slowly, and which come back at once?",
        """
import ldr
import statsmodels.api as sm

data = sm.datasets.danish_data.load_pandas().data
result = ldr.solve("tica", data, 5)
print(result.components[["eigenvalue", "variance"]].round(3).to_string())
figure = result.plot_projection(data)
""",
        "An eigenvalue near 1 is a combination that wanders, one near 0 a relation that money, "
        "income and rates come back to within a quarter: the last is what econometricians call "
        "cointegrated.",
    ),
    Example(
        "sunspots",
        "The cycle of the sun as a rotation",
        "Three centuries of sunspots, thirty years at a time: is there a plane in which they turn?",
        """
import numpy as np
import ldr
import statsmodels.api as sm

spots = np.sqrt(sm.datasets.sunspots.load_pandas().data["SUNACTIVITY"].to_numpy())
delays = np.lib.stride_tricks.sliding_window_view(spots, 30)
result = ldr.solve("dynamics", delays, 2)
print(result)
figure = result.plot_projection(delays)
""",
        "The objective looks for a plane in which steps are a linear function of the place. It "
        "finds a rotation: D is skew to three digits, and the picture is a ring, as wide as the "
        "cycle of the time was strong.",
    ),
    Example(
        "co2",
        "The rise and the seasons in the air of Mauna Loa",
        "Forty-three years of weekly carbon dioxide, a year at a time: what is in a year?",
        """
import numpy as np
import pandas as pd
import ldr
import statsmodels.api as sm

co2 = sm.datasets.co2.load_pandas().data["co2"].interpolate()
weeks = np.lib.stride_tricks.sliding_window_view(co2.to_numpy(), 52)
result = ldr.solve("pca", weeks, 3)
print(result.components.round(4).to_string())
week = pd.Series(np.arange(len(weeks)) % 52.18, name="week of the year")
figure = result.plot_projection(weeks, week)
""",
        "Nearly all of the variance is the rise, .98. What is left is a pair of equal numbers, a "
        "season: two coordinates in which a year goes round once, whose axes are arbitrary, as a "
        "note would say where they are equal to more digits.",
    ),
    Example(
        "marriages",
        "Answers of 6366 women, seen twice",
        "A survey of 1974: what of themselves goes with what of their husbands and marriages?",
        """
import ldr
import statsmodels.api as sm

data = sm.datasets.fair.load_pandas().data
herself = data[["age", "religious", "educ", "occupation"]]
marriage = data[["rate_marriage", "yrs_married", "children", "occupation_husb", "affairs"]]
result = ldr.solve("cca", (herself, marriage), 2)
print(ldr.parametric_test("cca", (herself, marriage)))
figure = ldr.plots.loadings(result)
""",
        "Bartlett's and Wilks' tests find three pairs in 6366 answers and no fourth. Age goes "
        "with years of marriage and children, which is no surprise; the second pair is her "
        "schooling and occupation with his.",
    ),
    Example(
        "travel",
        "What a traveller's choice says about the mode",
        "840 trips between Sydney and Melbourne, by air, train, bus and car: which costs and times "
        "tell the modes apart, and how well?",
        """
import ldr
import statsmodels.api as sm

data = sm.datasets.modechoice.load_pandas().data
mode = data["mode"].map({1.0: "air", 2.0: "train", 3.0: "bus", 4.0: "car"})
X = data[["ttme", "invc", "invt", "gc"]]
found = ldr.compare(
    ["lda", "orthogonal-lda", "pca"], X, mode, 2, standardise=True, random_state=0
)
for text in found.findings:
    print(text)
figure = found.plot()
""",
        "Two directions of four costs tell four modes apart in nine cases of ten. The trace "
        "ratio's optimum is worse than its own heuristic here, by more than the noise of the "
        "folds: it is the optimum of another question.",
    ),
    Example(
        "ten-years-at-a-time",
        "One factor of growth, ten years at a time",
        "Eight quarterly series of the United States, in every window of forty quarters: how "
        "closely did they move together?",
        """
import numpy as np
import ldr
import statsmodels.api as sm

data = sm.datasets.macrodata.load_pandas().data
levels = data[["realgdp", "realcons", "realinv", "realdpi", "cpi", "m1"]]
growth = np.log(levels).diff().join(data[["unemp", "tbilrate"]].diff()).dropna()
growth = (growth - growth.mean()) / growth.std()
windows = np.lib.stride_tricks.sliding_window_view(growth.to_numpy(), 40, axis=0)
found = ldr.solve_many("pca", windows.transpose(0, 2, 1), 1)
share = found.numbers[:, 0] / windows.var(axis=2, ddof=1).sum(axis=1)
ends = (data["year"] + (data["quarter"] - 1) / 4).iloc[40:]
for k in (share.argmin(), share.argmax(), len(share) - 1):
    print(f"ten years to {ends.iloc[k]:.2f}: one factor has {share[k]:.2f} of the variance")
figure = found.plot(ends)
""",
        "All windows are one call. One factor has less than a third of the variance in the quiet "
        "years to 1994, and half or more around the oil shock and the crisis of 2008, when "
        "everything fell together. The right picture is its variance.",
    ),
    Example(
        "three-accounts",
        "Three accounts of one economy",
        "Goods, money and labour, each a table of its own: what do all three know of?",
        """
import ldr
import statsmodels.api as sm

data = sm.datasets.macrodata.load_pandas().data
change = data.drop(columns=["year", "quarter"]).diff().dropna()
views = {
    "goods": change[["realgdp", "realcons", "realinv", "realgovt", "realdpi"]],
    "money": change[["cpi", "m1", "tbilrate", "infl"]],
    "labour": change[["unemp", "pop"]],
}
print(ldr.permutation_test("mcca", views, 2, standardise=True, random_state=0))
figure = ldr.plots.loadings(ldr.solve("mcca", views, 2, standardise=True))
""",
        "One direction is more than chance and a second one is not. The first is the business "
        "cycle, which each table tells in its own words: production and investment, interest "
        "rates, and unemployment with the sign turned.",
    ),
    Example(
        "firms-and-years",
        "What is the firm, and what is the year",
        "Investment, value and capital of eleven firms over twenty years: how much of it is who, "
        "and how much is when?",
        """
import numpy as np
import ldr
import statsmodels.api as sm

data = sm.datasets.grunfeld.load_pandas().data
X = np.log(data[["invest", "value", "capital"]].clip(lower=1))
for name, of in (("firm", (0,)), ("year", (1,))):
    result = ldr.solve("dpca", X, 1, y=data[["firm", "year"]], of=[of])
    share = result.parameters["explained_share"]
    print(f"{name}: one direction tells {share:.2f} of what it adds, P = {result.P[0].round(2)}")
figure = result.plot_projection(X, data["year"])
""",
        "Demixed components have a direction for each factor. Firms differ in investment and "
        "value together, their size; years in capital, which grew in every one of them.",
    ),
    Example(
        "who-turns-the-plane",
        "Which states turn the plane",
        "Crime in fifty-one states once more: which rows decide what the two largest components "
        "are?",
        """
import ldr
import statsmodels.api as sm

data = sm.datasets.statecrime.load_pandas().data
X = (data - data.mean()) / data.std()
result = ldr.solve("pca", X, 2)
influence = result.sensitivity(X).influence()
for i in influence.subspace.argsort()[::-1][:3]:
    rest = ldr.solve("pca", X.drop(index=X.index[i]), 2)
    turned = ldr.subspaces.distance(result.P.T, rest.P.T, "largest-angle")
    print(f"{X.index[i]}: influence {influence.subspace[i]:.2f}; left out, {turned:.2f} radians")
figure = influence.plot()
""",
        "What leaving each row out does is known without solving fifty-one times, and names the "
        "three that matter.",
    ),
)
