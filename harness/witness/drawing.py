"""Draws values for the tables of a query block so that it returns a row, or so that it just fails to."""

from collections.abc import Callable, Mapping
from random import Random
from typing import cast

from harness.witness.conditions import (
    NEGATED,
    All,
    Among,
    Block,
    Compare,
    Condition,
    Either,
    IsNull,
    Negation,
    Operator,
    Place,
    Relate,
    Spot,
    Within,
)
from harness.witness.database import Relation, Value
from harness.witness.domains import Domain, fitting

Need = tuple[str, object]
"""What one column must be: an operator with its operand, `in` with values, or `null` with whether it is."""


class Drawing:
    """One choice of what must hold: which disjuncts, which subqueries, which condition is broken on purpose."""

    def __init__(
        self,
        domains: Mapping[Place, Domain],
        classes: Mapping[Place, Place],
        kinds: Mapping[Place, tuple[str, Relation]],
        random: Random,
        focus: frozenset[str],
    ) -> None:
        self.domains = domains
        self.classes = classes
        self.kinds = kinds
        self.random = random
        self.focus = focus
        self.instances: list[int] = []
        self.groups: list[Spot] = []
        self.spots: list[Spot] = []
        self.parent: dict[Spot, Spot] = {}
        self.needs: dict[Spot, list[Need]] = {}
        self.relations: list[tuple[Spot, Operator, Spot]] = []

    def enter(self, block: Block, flip: bool = False) -> None:
        """Ask for a row of the block; with `flip`, break one of its conditions."""
        self.instances += [instance for instance in block.instances if instance not in self.instances]
        self.groups += block.groups
        for part in block.parts:
            if not flip or self.random.random() < 0.8:
                self.enter(part, flip=flip and self.random.random() < 0.4)
        members = block.condition.members if isinstance(block.condition, All) else (block.condition,)
        broken = self._victim(members) if flip and members else -1
        for index, member in enumerate(members):
            self.ask(member, index != broken)

    def _victim(self, members: tuple[Condition, ...]) -> int:
        wanted = [i for i, member in enumerate(members) if self.focus and self._in_focus(member)]
        return (
            self.random.choice(wanted) if wanted and self.random.random() < 0.7 else self.random.randrange(len(members))
        )

    def _in_focus(self, condition: Condition) -> bool:
        match condition:
            case Compare(spot=spot) | IsNull(spot=spot) | Among(spot=spot):
                kind = self.kinds.get(spot.place)
                return kind is not None and kind[1].columns[spot.place.column].name.lower() in self.focus
            case All(members=members) | Either(members=members):
                return any(self._in_focus(member) for member in members)
            case Negation(member=member):
                return self._in_focus(member)
        return False

    def ask(self, condition: Condition, positive: bool) -> None:
        """Require a condition to hold, or not to."""
        random = self.random
        match condition:
            case Negation(member=member):
                self.ask(member, not positive)
            case All(members=members) | Either(members=members) if not members:
                return
            case All(members=members):
                chosen = -1 if positive else random.randrange(len(members))
                for index, member in enumerate(members):
                    if positive or index == chosen or random.random() < 0.7:
                        self.ask(member, positive or index != chosen)
            case Either(members=members):
                chosen = random.randrange(len(members))
                for index, member in enumerate(members):
                    if not positive:
                        self.ask(member, False)
                    elif index == chosen:
                        self.ask(member, True)
                    elif random.random() < 0.3:
                        self.ask(member, False)
            case Compare(spot=spot, operator=operator, value=value):
                self._need(spot, (operator if positive else NEGATED[operator], value))
            case IsNull(spot=spot):
                self._need(spot, ("null", positive))
            case Among(spot=spot, holding=holding, failing=failing):
                values = holding if positive else failing
                if values:
                    self._need(spot, ("in", values))
            case Relate(left=left, operator="=", right=right) if positive:
                self._join(left, right)
            case Relate(left=left, operator=operator, right=right):
                self._touch(left)
                self._touch(right)
                self.relations.append((left, operator if positive else NEGATED[operator], right))
            case Within(block=block, links=links):
                if positive or random.random() < 0.5:
                    self.enter(block)
                    for outer, inner in links if positive else ():
                        self._join(outer, inner)

    def _touch(self, spot: Spot) -> Spot:
        if spot not in self.parent:
            self.parent[spot] = spot
            self.spots.append(spot)
        return self._root(spot)

    def _root(self, spot: Spot) -> Spot:
        while (above := self.parent[spot]) != spot:
            spot = above
        return spot

    def _join(self, one: Spot, other: Spot) -> None:
        left, right = self._touch(one), self._touch(other)
        if left != right:
            self.parent[right] = left
            self.needs[left] = self.needs.get(left, []) + self.needs.pop(right, [])

    def _need(self, spot: Spot, need: Need) -> None:
        self.needs.setdefault(self._touch(spot), []).append(need)

    def group_roots(self) -> frozenset[Spot]:
        """The classes that the grouping columns belong to."""
        return frozenset(self._touch(spot) for spot in self.groups)

    def omission(self) -> int | None:
        """An instance to leave out, so that the others find no partner in it."""
        return self.random.choice(self.instances) if len(self.instances) > 1 else None

    def solve(self, held: Mapping[Spot, Value], active: Callable[[Place], list[Value]]) -> dict[Spot, Value]:
        """Choose a value for each class of equal columns, keeping those that are `held`."""
        values: dict[Spot, Value] = {}
        for spot in self.spots:
            root = self._root(spot)
            if root not in values:
                values[root] = held[root] if root in held else self._choose(root, active)
        for left, operator, right in self.relations:
            one, other = self._root(left), self._root(right)
            for _ in range(4):
                if _holds(values[one], operator, values[other]):
                    break
                free = other if other not in held else one
                values[free] = self._choose(free, active, spread=True)
        return values

    def _choose(self, root: Spot, active: Callable[[Place], list[Value]], spread: bool = False) -> Value:
        needs = self.needs.get(root, [])
        if any(need == ("null", True) for need in needs):
            return None
        domain = self.domains.get(root.place)
        if domain is None:
            return None
        wanted = [need for need in needs if need[0] != "null"]
        pool = list(domain.values) if wanted or spread else (active(root.place) or list(domain.values))
        good = [value for value in pool if all(self._meets(root.place, value, need) for need in wanted)]
        if not good and wanted:
            good = self._literally(root.place, wanted)
        return self.random.choice(good or pool) if good or pool else None

    def _meets(self, place: Place, value: Value, need: Need) -> bool:
        name, operand = need
        if name == "in":
            return any(value == made for made in self._forms(place, cast("tuple[Value, ...]", operand)))
        forms = self._forms(place, (cast("Value", operand),)) or [cast("Value", operand)]
        return _holds(value, cast("Operator", name), forms[0])

    def _literally(self, place: Place, needs: list[Need]) -> list[Value]:
        """What the conditions themselves name, where the domain holds nothing that meets them all."""
        found: list[Value] = []
        for name, operand in needs:
            operands = cast("tuple[Value, ...]", operand) if name == "in" else (cast("Value", operand),)
            found += self._forms(place, operands) if name in {"in", "=", "<=", ">="} else []
        return found

    def _forms(self, place: Place, values: tuple[Value, ...]) -> list[Value]:
        known = self.kinds.get(place)
        if known is None:
            return list(values)
        kind, relation = known
        return [form for value in values for form in fitting(value, kind, relation.columns[place.column])]

    def cells(self, instance: int, values: Mapping[Spot, Value]) -> dict[int, Value]:
        """The cells of one instance's row, in the form that its columns hold."""
        found: dict[int, Value] = {}
        for spot in self.spots:
            if spot.instance == instance:
                value = values[self._root(spot)]
                forms = self._forms(spot.place, (value,)) if value is not None else [None]
                if forms:
                    found[spot.place.column] = forms[0]
        return found


def _holds(left: Value, operator: Operator, right: Value) -> bool:
    """The comparison of two constants; unlike types are unequal, and NULL is in no relation."""
    if left is None or right is None:
        return False
    if operator in {"=", "<>"}:
        return (left == right) is (operator == "=")
    if isinstance(left, str) != isinstance(right, str) or isinstance(left, bytes) or isinstance(right, bytes):
        return False
    less = left < right  # type: ignore[operator]
    if operator in {"<", "<="}:
        return less or (operator == "<=" and left == right)
    return not less and (operator == ">=" or left != right)
