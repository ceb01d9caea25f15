"""Matrices: the product and its order, labels, skip and only, limits, values that are made, parameters of pytest."""

from __future__ import annotations

import asyncio
import contextlib
import itertools

import pytest
import sqlalchemy.dialects.sqlite  # noqa: F401  (a pytest in this process would load it twice)

from soundstage.evals import Matrix, MatrixError, labelled, made_by

pytest_plugins = ["pytester"]


def names(cells):
    return [cell.name for cell in cells]


def test_the_cells_are_the_product_in_its_order():
    sizes = {"a": [1, 2], "b": ["x", "y", "z"], "c": [True]}
    cells = Matrix(**sizes).cells
    assert [tuple(value.value for value in cell.values.values()) for cell in cells] == list(
        itertools.product(*sizes.values())
    )
    assert names(cells)[:2] == ["a=1, b=x, c=true", "a=1, b=y, c=true"]


def test_values_have_labels_their_own_their_text_their_name_or_their_place():
    def function(): ...

    values = [labelled("mine", {"k": 1}), "text", 2, None, function, {"k": 2}, lambda: 3, "long " * 20]
    labels = [cell.labels["d"] for cell in Matrix(d=values).cells]
    assert labels == ["mine", "text", "2", "none", "function", "d6", "d7", "d8"]


def test_skipped_combinations_are_known_and_not_run():
    matrix = Matrix(a=[1, 2], b=["x", "y"], skip=[{"a": 1, "b": "x"}, {"b": ["y"], "a": "2"}])
    assert names(matrix.cells) == ["a=1, b=y", "a=2, b=x"]
    assert names(matrix.skipped) == ["a=1, b=x", "a=2, b=y"]


def test_only_the_chosen_combinations_are_run_and_of_them_not_the_skipped():
    matrix = Matrix(a=[1, 2], b=["x", "y"], only={"a": 2}, skip={"b": "y"})
    assert names(matrix.cells) == ["a=2, b=x"]
    assert [cell.skipped for cell in matrix.skipped] == ["it is not one of `only`"] * 2 + [
        "it is one of `skip`"
    ]


@pytest.mark.parametrize(
    ("options", "key", "told"),
    [
        ({}, "matrix", "at least one dimension"),
        ({"a": []}, "matrix.a", "empty list"),
        ({"a": "text"}, "matrix.a", "expected a list of values, got str"),
        ({"a": {"x": 1}}, "matrix.a", "expected a list of values, got dict"),
        ({"a": [1, 1]}, "matrix.a[1]", "two values are called '1'"),
        ({"a": range(2)}, "matrix.a", "expected a list of values, got range"),
        ({"a": [1], "skip": {"b": 1}}, "matrix.skip", "no dimension 'b'"),
        ({"model": ["small"], "only": {"model": "smal"}}, "matrix.only", "did you mean 'small'"),
        ({"a": [1], "skip": [{}]}, "matrix.skip", "expected labels by dimension"),
        ({"a": [1], "skip": {"a": 1}}, "matrix.skip", "all combinations are skipped"),
        ({"a": [1], "limit": 0}, "matrix.limit", "at least 1"),
    ],
)
def test_a_matrix_that_cannot_be_meant_so_is_refused(options, key, told):
    with pytest.raises(MatrixError) as caught:
        Matrix(**options)
    (problem,) = caught.value.problems
    assert (problem.key, told in problem.message) == (key, True), problem
    assert isinstance(caught.value, ValueError)


def test_a_matrix_that_explodes_is_refused_before_its_product_is_made():
    ten = {f"d{n}": list(range(10)) for n in range(9)}
    with pytest.raises(MatrixError, match=r"10 x 10 .* = 1,000,000,000 combinations, at most 256"):
        Matrix(**ten)
    assert len(Matrix(a=list(range(17)), b=list(range(17)), limit=289).cells) == 289
    with pytest.raises(MatrixError, match="289 combinations, at most 288"):
        Matrix(a=list(range(17)), b=list(range(17)), limit=288)


def collected(function):
    """The parameters of a test: ids, values, whether it is skipped."""
    (mark,) = function.pytestmark
    return [(one.id, one.values, bool(one.marks)) for one in mark.args[1]]


def test_the_parameters_of_a_test_are_the_cells_with_their_labels():
    @Matrix(a=[1, 2], b=["x", "y"], skip={"a": 1, "b": "x"}).parametrize
    def test_it(a, b): ...

    assert collected(test_it) == [
        ("1-x", (1, "x"), True),
        ("1-y", (1, "y"), False),
        ("2-x", (2, "x"), False),
        ("2-y", (2, "y"), False),
    ]


def test_a_test_gets_values_made_for_it_whose_contexts_are_left_even_if_it_fails():
    seen = []

    async def number():
        return 7

    @contextlib.asynccontextmanager
    async def place():
        seen.append("entered")
        yield "there"
        seen.append("left")

    @contextlib.asynccontextmanager
    async def broken():
        try:
            yield "broken"
        finally:
            seen.append("left after a failure")

    @Matrix(n=[1, made_by(number)], at=[made_by(place), made_by(broken, "odd")]).parametrize
    async def test_it(n, at):
        seen.append((n, at))
        assert at != "broken"

    found = collected(test_it)
    assert [one[0] for one in found] == ["1-place", "1-odd", "number-place", "number-odd"]
    for _, (n, at), _ in (found[2], found[1]):
        with contextlib.suppress(AssertionError):
            asyncio.run(test_it(n=n, at=at))
    assert seen == ["entered", (7, "there"), "left", (1, "broken"), "left after a failure"]


def test_values_are_made_anew_for_each_run():
    numbers = itertools.count()

    async def number():
        return next(numbers)

    seen = []

    @Matrix(n=[made_by(number)]).parametrize
    async def test_it(n):
        seen.append(n)

    ((_, (value,), _),) = collected(test_it)
    asyncio.run(test_it(n=value))
    asyncio.run(test_it(n=value))
    assert seen == [0, 1]


def test_a_test_that_does_not_take_a_dimension_is_refused_and_so_is_one_that_cannot_wait():
    with pytest.raises(MatrixError, match="no such argument"):
        Matrix(a=[1], b=[2]).parametrize(lambda a: None)
    with pytest.raises(MatrixError, match="asynchronous test"):
        Matrix(a=[made_by(lambda: 1)]).parametrize(lambda a: None)


def test_pytest_runs_each_combination_skips_with_the_reason_and_repeats_with_the_mark_of_evals(pytester):
    pytester.makepyfile(
        test_it="""
        import pytest
        from soundstage.evals import Matrix, made_by

        RUNS = []

        async def city():
            return "Paris"

        @pytest.mark.eval(repeat=3)
        @Matrix(
            city=[made_by(city), "Rome"], style=["short", "long"], skip={"city": "Rome", "style": "long"}
        ).parametrize
        async def test_it(city, style, journal):
            RUNS.append((city, style))
            assert city != "Rome"

        def test_runs():
            assert RUNS == [("Paris", "short")] * 3 + [("Paris", "long")] * 3 + [("Rome", "short")]
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:randomly", "-p", "no:cacheprovider", "-rs", "-v")
    result.assert_outcomes(passed=3, failed=1, skipped=1)
    assert "city=Rome, style=long: it is one of `skip`" in result.stdout.str()
    assert "test_it[city-short] PASSED" in result.stdout.str()
