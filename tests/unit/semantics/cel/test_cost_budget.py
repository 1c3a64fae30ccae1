"""What an evaluation may cost."""

import pytest

from doorman.semantics.cel.cel_errors import CostExceeded
from doorman.semantics.cel.cost_budget import CostBudget


def test_all_of_it_may_be_spent_and_no_more() -> None:
    budget = CostBudget(10)
    budget.charge(10)
    assert budget.left == 0
    with pytest.raises(CostExceeded, match="actual cost limit exceeded"):
        budget.charge(1)


@pytest.mark.parametrize(("size", "cost"), [(0, 1), (9, 1), (10, 2), (95, 10)])
def test_ten_characters_cost_as_much_as_a_step(size: int, cost: int) -> None:
    budget = CostBudget(100)
    budget.charge_size(size)
    assert budget.left == 100 - cost
