"""How much of a device's capacity a request consumes, and whether there is so much.

Rules
-----
1. A request that names a capacity the device does not have cannot be met by that device.
2. Without a request the policy's default is consumed, or everything.
3. A request is rounded up to what the policy allows: to the minimum of a range and from there by its steps, or to
   the next of its valid values.
4. More than the range's maximum, or beyond the last valid value, cannot be met by that device.
5. What all shares consume together must not exceed the capacity.
"""

from collections.abc import Mapping
from fractions import Fraction

from doorman.api.machinery.quantity import QuantityError, parse_quantity, quantity_text
from doorman.api.views.resource.devices import CapacityPolicy, CapacityRange, Device, DeviceCapacity

Consumption = Mapping[str, tuple[Fraction, str]]
"""By the capacity's name: the amount, and how it is written."""


def consumption_or_none(requests: Mapping[str, str], device: Device) -> Consumption | None:
    """Rules 1 to 4: what the request would consume of the device; None when the device cannot meet it.

    >>> memory = DeviceCapacity(value="10Gi", request_policy=CapacityPolicy(default="1Gi", valid_values=("1Gi", "4Gi")))
    >>> shared = Device(capacity={"memory": memory}, allow_multiple_allocations=True)
    >>> [consumption_or_none({"memory": wanted}, shared)["memory"][1] for wanted in ("1Gi", "2Gi")]
    ['1Gi', '4Gi']
    >>> consumption_or_none({"memory": "5Gi"}, shared) is None
    True
    """
    if any(name not in device.capacity for name in requests):
        return None
    found: dict[str, tuple[Fraction, str]] = {}
    for name, capacity in device.capacity.items():
        try:
            amount = _consumed(requests.get(name), capacity)
        except QuantityError:
            return None
        if amount is None or amount[0] < 0:
            return None
        found[name] = amount
    return found


def has_room(consumption: Consumption, device: Device, *in_use: Mapping[str, Fraction]) -> bool:
    """Rule 5."""
    for name, (amount, _) in consumption.items():
        total = amount + sum(used.get(name, Fraction(0)) for used in in_use)
        if total > parse_quantity(device.capacity[name].value):
            return False
    return True


def _consumed(wanted: str | None, capacity: DeviceCapacity) -> tuple[Fraction, str] | None:
    policy = capacity.request_policy
    if wanted is None:
        text = policy.default if policy is not None and policy.default is not None else capacity.value
        return parse_quantity(text), text
    if policy is None:
        return parse_quantity(wanted), wanted
    return _by_policy(wanted, policy)


def _by_policy(wanted: str, policy: CapacityPolicy) -> tuple[Fraction, str] | None:
    """Rules 3 and 4."""
    if policy.valid_range is not None:
        return _in_range(wanted, policy.valid_range, policy.default)
    if policy.valid_values:
        amount = parse_quantity(wanted)
        for text in policy.valid_values:
            if amount <= parse_quantity(text):
                return parse_quantity(text), text
        return None
    return parse_quantity(wanted), wanted


def _in_range(wanted: str, valid: CapacityRange, default: str | None) -> tuple[Fraction, str] | None:
    amount, text = parse_quantity(wanted), wanted
    if valid.min is not None:
        lowest = parse_quantity(valid.min)
        if amount < lowest:
            amount, text = lowest, valid.min
        elif valid.step is not None and parse_quantity(valid.step) > 0:
            step = parse_quantity(valid.step)
            steps = -((lowest - amount) // step)
            if lowest + steps * step != amount:
                amount = lowest + steps * step
                text = quantity_text(amount, is_binary=valid.step.endswith("i"))
    is_default = default is not None and amount == parse_quantity(default)
    if valid.max is not None and amount > parse_quantity(valid.max) and not is_default:
        return None
    return amount, text
