"""Replays the proof of a bound on Max-Margin (R24 to R41).

docs/certificates.md describes the format of the proof.  Its only numerical content is multipliers, and any non-negative
multipliers give a valid bound; so an altered proof is either rejected or still proves what it claims.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby, pairwise
from typing import Any

from bemi.certificate.arithmetic import Rows
from bemi.certificate.limits import KIND, LARGEST_MARGIN, CertificateError, fits, only, require, whole
from bemi.certificate.shapes import MOST_NEURONS, LabelBounds


def upper_bounds(layers: Sequence[int], weight_bound: int) -> list[list[int | None]]:
    """table[h][d]: largest sum of margins above layer 1 if two rows are separated by h neurons and d outputs (R26).

    A neuron that separates them has a margin of at most P times its separating inputs, any other one at most P times
    the other inputs; every hidden layer must separate them somewhere.
    """
    widths = list(layers[1:])
    last = len(widths) - 1
    table: list[list[int | None]] = [[None] * (widths[-1] + 1) for _ in range(widths[0] + 1)]
    for d in range(widths[-1] + 1):
        best: dict[int, int] = {d: 0}
        for layer in range(last, 0, -1):
            counts = range(1 if layer > 1 else 0, widths[layer - 1] + 1)
            best = {
                h: max(
                    weight_bound * (g * h + (widths[layer] - g) * (widths[layer - 1] - h)) + value
                    for g, value in best.items()
                )
                for h in counts
            }
        for h, value in best.items():
            if last > 0:
                table[h][d] = value
    return table


class _Neuron:
    """Signs (0: free), groups of rows that must be equal, and the bound on one neuron's margin (R24)."""

    __slots__ = ("bound", "group", "signs")

    def __init__(self, signs: list[int], group: list[int], bound: int) -> None:
        self.signs, self.group, self.bound = signs, group, bound

    def copy(self) -> _Neuron:
        return _Neuron(list(self.signs), list(self.group), self.bound)

    def assign(self, row: int, sign: int) -> bool:
        """Give the row's group a sign; False if it already has the other one."""
        if self.signs[row] == -sign:
            return False
        mine = self.group[row]
        self.signs = [sign if g == mine else s for s, g in zip(self.signs, self.group, strict=True)]
        return True

    def equate(self, a: int, b: int) -> bool:
        """Merge the groups of a and b; False if they already have different signs."""
        if self.group[a] == self.group[b]:
            return True
        sign_a, sign_b = self.signs[a], self.signs[b]
        if sign_a * sign_b < 0:
            return False
        self.group = _joined(self.group, a, b)
        return self.assign(a, sign_a or sign_b) if sign_a or sign_b else True

    def separates(self, a: int, b: int) -> bool:
        return self.signs[a] * self.signs[b] < 0

    def can_separate(self, a: int, b: int) -> bool:
        return self.group[a] != self.group[b] and self.signs[a] * self.signs[b] == 0

    def orientations(self, a: int, b: int) -> list[int]:
        """Possible signs of a if the neuron separates a and b; a neuron without signs may be flipped (R17, R31)."""
        if not self.can_separate(a, b):
            return []
        if self.signs[a] or self.signs[b]:
            return [self.signs[a] or -self.signs[b]]
        return [1, -1] if any(self.signs) else [1]


def _joined(group: list[int], a: int, b: int) -> list[int]:
    low, high = sorted((group[a], group[b]))
    return [low if g == high else g for g in group]


Member = tuple[int, bytes]
"""The bound of a dichotomy, and for each row 1 if it is + there."""


class _List:
    """All dichotomies of the neurons of some tiers that have margins above a level, largest bounds first (R33).

    Bit 2i of ``plus[k]`` is set if member i gives row k a +, bit 2i + 1 if its flip does.
    """

    def __init__(self, tier: int, level: int, members: list[Member], rows: Rows) -> None:
        members = sorted(members, key=lambda member: -member[0])
        self.tier, self.level, self.work = tier, level, rows.work
        self.bounds = [bound for bound, _ in members]
        self.work.spend(3 * len(rows) * len(members))
        fits(len(rows) * len(members) // 4)
        backwards = [signs for _, signs in reversed(members)]
        count = len(rows) if members else 0
        self.plus = [int("".join(["01" if signs[k] else "10" for signs in backwards]), 2) for k in range(count)]

    def narrow(self, neuron: _Neuron, count: int) -> bool:
        """Assign what those of the first ``count`` members that fit the neuron share; False if none fits (R34)."""
        self.work.spend(len(self.plus) * (8 + len(self.bounds) // 4))
        left = (1 << (2 * count)) - 1
        if not left:
            return False
        first: dict[int, int] = {}
        for plus, sign, group in zip(self.plus, neuron.signs, neuron.group, strict=True):
            if sign:
                left &= plus if sign > 0 else ~plus
            left &= ~(plus ^ first.setdefault(group, plus))
        if not left:
            return False
        if any(neuron.signs):
            neuron.signs = [1 if p & left == left else -1 if p & left == 0 else 0 for p in self.plus]
        numbers: dict[int, int] = {}
        neuron.group = [numbers.setdefault(p & left, k) for k, p in enumerate(self.plus)]
        neuron.bound = min(neuron.bound, self.bounds[((left & -left).bit_length() - 1) // 2])
        return True


class _State:
    """What is known at a node of the proof (R24); dead once it is contradictory.

    ``floors`` are lower bounds on the margins of the neurons, and ``listed`` is a list of dichotomies, if any.
    ``labels`` are bounds on neurons by what they do to the codes, and ``together`` is what follows for all neurons of
    the lowest tier, if anything does.
    """

    def __init__(
        self,
        neurons: list[_Neuron],
        components: list[list[int]],
        upper: int,
        floors: list[int] | None = None,
        listed: _List | None = None,
    ) -> None:
        self.neurons, self.components, self.upper = neurons, components, upper
        self.floors = [0] * len(neurons) if floors is None else floors
        self.listed = listed
        self.labels: LabelBounds | None = None
        self.together: int | None = None
        self.dead = False

    def copy(self) -> _State:
        neurons = [n.copy() for n in self.neurons]
        new = _State(neurons, list(self.components), self.upper, list(self.floors), self.listed)
        new.labels, new.together = self.labels, self.together
        return new


_TAKE_BACK = object()
"""Not a value that a file can hold: a null there must be refused as a tree."""


def largest_leaf(
    rows: Rows,
    signs: Sequence[int],
    group: Sequence[int],
    tree: Any,
    members: list[Member] | None = None,
) -> int:
    """Largest margin bound over the leaves of a tree over one neuron's signs (R27).

    Leaves in which all signs are fixed may be collected as members of a list.
    """
    rows.work.spend(2 * len(rows))
    signs, where = list(signs), _members(group)
    worst = 0
    # A tree, and the sign to give to a group before it; in place of a tree, _TAKE_BACK takes the sign back.
    stack: list[tuple[Any, int, int]] = [(tree, group[0], signs[0])]
    while stack:
        tree, mine, sign = stack.pop()
        rows.work.spend(4 + len(where[mine]))
        for k in where[mine]:
            signs[k] = sign
        if tree is _TAKE_BACK:
            continue
        require(isinstance(tree, list) and len(tree) > 1, "a tree is malformed")
        if tree[0] == "L":
            require(len(tree) == 2, "a leaf is malformed")
            worst = max(worst, rows.margin_bound(signs, tree[1]))
            continue
        if tree[0] == "W" and members is not None:
            require(len(tree) == 2 and all(signs), "a member of a list has free signs")
            rows.work.spend(2 * len(rows))
            fits((len(members) + 1) * (len(rows) + 100))
            members.append((rows.margin_bound(signs, tree[1]), bytes([s > 0 for s in signs])))
            continue
        require(tree[0] == "T" and len(tree) == 4, "a branch is missing")
        k = whole(tree[1], 0, len(rows), "row")
        require(signs[k] == 0, "a branch is on a row that has a sign already")
        stack += [(_TAKE_BACK, group[k], 0), (tree[2], group[k], 1), (tree[3], group[k], -1)]
    return worst


def _members(group: Sequence[int]) -> dict[int, list[int]]:
    """The rows of each group."""
    where: dict[int, list[int]] = {}
    for k, g in enumerate(group):
        where.setdefault(g, []).append(k)
    return where


def _branch_size(rows: Rows, neurons: int) -> int:
    """About the bytes that one open branch takes."""
    return (20 * len(rows) + 300) * neurons


class MarginProof:
    """Replays one proof; :meth:`bound` is what it actually proves."""

    def __init__(self, rows: Rows, proof: dict[str, Any]) -> None:
        only(proof, {"value", "tree"} | ({"tiers", "cap"} if len(rows.layers) > 2 else set()), {"bound", *KIND})
        self.rows, self.proof = rows, proof
        self.neurons = rows.layers[1]
        self.value = whole(proof.get("value"), 0, LARGEST_MARGIN, "value of the proof")
        self.work = rows.work
        fits(_branch_size(rows, self.neurons))  # before the tables below, which grow with the neurons too
        self.tiers = [0] * self.neurons
        self.members = [list(range(self.neurons))]  # by tier, in increasing order
        self.work.spend((rows.layers[-1] + 1) * sum(a * b for a, b in pairwise(rows.layers[1:])))
        self.upper = upper_bounds(rows.layers, rows.weight_bound)

    def bound(self) -> int:
        """No network that classifies all rows right with every margin at least 1 has a larger sum of margins (R38)."""
        result = self.value
        size = _branch_size(self.rows, self.neurons + max(self.tiers) + 1)
        begin = self._begin
        stack: list[tuple[Callable[[], _State], Any]] = [(begin, self.proof.get("tree"))]
        while stack:
            # Open branches are made when their turn comes.
            fits(size * len(stack))
            make, node = stack.pop()
            self.work.spend(size // 16)
            state = make()
            if state.dead:
                continue
            require(isinstance(node, list) and node, "a node is missing")
            for step in node[:-1]:
                require(isinstance(step, list) and step, "a step is malformed")
                self._step(state, step)
                if state.dead:
                    break
            if state.dead or any(n.bound < 1 for n in state.neurons) or self._total(state) <= self.value:
                continue
            end = node[-1]
            require(isinstance(end, list) and end, "the end of a node is malformed")
            if end[0] == "O":
                result = max(result, self._total(state))
            elif end[0] in ("S", "T", "V"):
                require(len(end) == 4 and isinstance(end[3], list), "a branching is malformed")
                branch = {"S": self._separations, "T": self._signs, "V": self._margins}[end[0]]
                children = branch(state, *end[1:3])
                require(len(children) == len(end[3]), "a branch is missing: the children do not cover their node")
                stack.extend(zip(children, end[3], strict=True))
            else:
                raise CertificateError("a node is called closed, but its bound is above the value")
        if "bound" in self.proof:
            claimed = whole(self.proof["bound"], 0, LARGEST_MARGIN, "bound of the proof")
            require(claimed >= result, f"the proof claims {claimed}, but only {result} is proved")
        return result

    def _begin(self) -> _State:
        """What is known before the first step (R25)."""
        rows = self.rows
        own = list(range(len(rows)))
        if len(rows.layers) == 2:
            # No hidden layer: the signs are the codes, and there are no upper layers.
            largest = rows.weight_bound * max(rows.norms)
            neurons = [_Neuron([c[j] for c in rows.codes], own, largest) for j in range(self.neurons)]
            return _State(neurons, [own], 0)
        tiers: Any = self.proof.get("tiers")
        require(isinstance(tiers, list) and len(tiers) == self.neurons, "tiers do not fit the first layer")
        self.tiers = [whole(t, 0, self.neurons + 1, "tier") for t in tiers]
        require(self.tiers == sorted(self.tiers), "tiers are not in order")
        self.members = [list(same) for _, same in groupby(range(self.neurons), key=self.tiers.__getitem__)]
        cap: Any = self.proof.get("cap")
        require(isinstance(cap, list) and len(cap) == 3, "the cap is malformed")
        first = whole(cap[1], 0, len(rows), "row")
        signs = [0] * len(rows)
        signs[first] = 1  # a neuron may be flipped
        largest = whole(cap[0], 0, LARGEST_MARGIN, "cap")
        require(largest_leaf(rows, signs, own, cap[2]) <= largest, "the cap does not follow")
        if len(set(rows.codes)) == 1:
            upper = rows.weight_bound * sum(a * b for a, b in pairwise(rows.layers[1:]))
        else:
            upper = max(v for line in self.upper[1:] for v in line if v is not None)
        neurons = [_Neuron([0] * len(rows), list(own), largest) for _ in range(self.neurons)]
        return _State(neurons, [list(own) for _ in range(max(self.tiers) + 1)], upper)

    def _total(self, state: _State) -> int:
        """Margins in a higher tier are at least as large as in a lower one, so its bounds also hold below (R28)."""
        lowest = rest = 0
        self.work.spend(self.neurons)
        above: int | None = None  # the smallest bound of higher tiers
        for members in reversed(self.members):
            bounds = [state.neurons[j].bound for j in members]
            sum_here = sum(bounds) if above is None else sum(min(bound, above) for bound in bounds)
            above = min(bounds) if above is None else min(above, *bounds)
            if self.tiers[members[0]]:
                rest += sum_here
            else:
                lowest += sum_here
        return state.upper + rest + (lowest if state.together is None else min(lowest, state.together))

    def _need(self, state: _State, j: int) -> int:
        """Smallest margin of neuron j in any network in this state with an objective above the value (R28)."""
        self.work.spend(8 * self.neurons)
        goal = self.value + 1 - state.upper
        others = sum(n.bound for i, n in enumerate(state.neurons) if self.tiers[i] >= self.tiers[j] and i != j)
        lower = [n.bound for i, n in enumerate(state.neurons) if self.tiers[i] < self.tiers[j]]
        # The left side of  m + sum min(bound, m) + others >= goal  grows with m: bisection.
        low, high = 0, max(goal - others, 0)
        while low < high:
            m = (low + high) // 2
            if m + sum(min(b, m) for b in lower) + others >= goal:
                high = m
            else:
                low = m + 1
        if state.together is not None and self.tiers[j]:
            higher = sum(n.bound for i, n in enumerate(state.neurons) if self.tiers[i] and i != j)
            low = max(low, goal - higher - state.together)
        return max(low, state.floors[j])

    def _different(self, a: Any, b: Any) -> tuple[int, int]:
        a, b = (whole(k, 0, len(self.rows), "row") for k in (a, b))
        require(self.rows.codes[a] != self.rows.codes[b], "a pair of rows has equal codes")
        return a, b

    def _classes(self, state: _State) -> list[list[int]]:
        """Classes of identical neurons of one tier, which may be swapped (R18, R24)."""
        self.work.spend(self.neurons * len(self.rows))
        classes: dict[Any, list[int]] = {}
        for j, neuron in enumerate(state.neurons):
            classes.setdefault((self.tiers[j], tuple(neuron.signs), tuple(neuron.group)), []).append(j)
        return list(classes.values())

    def _step(self, state: _State, step: list[Any]) -> None:
        kinds: dict[Any, tuple[Callable[..., None], int]] = {
            "B": (self._bound, 3),
            "X": (self._exclude, 5),
            "D": (self._forced, 3),
            "M": (self._merge, 5),
            "N": (self._list, 4),
            "F": (self._from_list, 3),
            "Y": (self._shapes, 5),
            "A": (self._opposed, 3),
            "G": (self._bound_upper, 3),
        }
        self.work.spend(2 * len(self.rows) + 4 * self.neurons)
        require(type(step[0]) is str and step[0] in kinds, "a step is unknown")
        apply, length = kinds[step[0]]
        require(len(step) == length, "a step is malformed")
        apply(state, *step[1:])

    def _bound(self, state: _State, j: Any, multipliers: Any) -> None:
        """Step B (R29)."""
        neuron = state.neurons[whole(j, 0, self.neurons, "neuron")]
        neuron.bound = min(neuron.bound, self.rows.margin_bound(neuron.signs, multipliers))

    def _exclude(self, state: _State, j: Any, row: Any, sign: Any, multipliers: Any) -> None:
        """Step X (R30)."""
        j, row = whole(j, 0, self.neurons, "neuron"), whole(row, 0, len(self.rows), "row")
        require(type(sign) is int and sign in (1, -1), "a sign is neither 1 nor -1")
        neuron = state.neurons[j]
        require(neuron.signs[row] == 0, "a sign is excluded on a row that has one")
        require(any(neuron.signs), "a sign is excluded in a neuron that may be flipped")
        trial = neuron.copy()
        trial.assign(row, sign)
        bound = self.rows.margin_bound(trial.signs, multipliers)
        require(bound < self._need(state, j), "an excluded sign is possible")
        neuron.assign(row, -sign)

    def _forced(self, state: _State, a: Any, b: Any) -> None:
        """Step D (R31)."""
        a, b = self._different(a, b)
        require(not any(n.separates(a, b) for n in state.neurons), "a pair is separated already")
        options = [
            (members[0], sign)
            for members in self._classes(state)
            for sign in state.neurons[members[0]].orientations(a, b)
        ]
        require(len(options) <= 1, "a separation is not forced")
        if not options:
            state.dead = True
            return
        j, sign = options[0]
        state.dead = not (state.neurons[j].assign(a, sign) and state.neurons[j].assign(b, -sign))

    def _merge(self, state: _State, tier: Any, a: Any, b: Any, tree: Any) -> None:
        """Step M (R32)."""
        tier = whole(tier, 0, max(self.tiers) + 1, "tier")
        a, b = (whole(k, 0, len(self.rows), "row") for k in (a, b))
        group = state.components[tier]
        require(group[a] != group[b], "a merge joins rows that are merged already")
        signs = [1 if g == group[a] else -1 if g == group[b] else 0 for g in group]
        concerned = [j for j in range(self.neurons) if self.tiers[j] >= tier]
        self.work.spend(2 * len(self.rows) * (len(concerned) + len(state.components)))
        need = min(self._need(state, j) for j in concerned)
        require(largest_leaf(self.rows, signs, group, tree) < need, "a merge does not follow")
        for t in range(tier, len(state.components)):
            if state.components[t][a] != state.components[t][b]:
                state.components[t] = _joined(state.components[t], a, b)
        for j in concerned:
            if not state.neurons[j].equate(a, b):
                state.dead = True

    def _list(self, state: _State, tier: Any, level: Any, tree: Any) -> None:
        """Step N (R33)."""
        tier = whole(tier, 0, max(self.tiers) + 1, "tier")
        require(state.listed is None, "there is a list already")
        level = whole(level, 0, LARGEST_MARGIN, "level of a list")
        group = state.components[tier]
        # A dichotomy and its flip are equivalent, so the sign of one row can be chosen freely.
        first = self.rows.norms.index(min(self.rows.norms))
        signs = [1 if g == group[first] else 0 for g in group]
        members: list[Member] = []
        require(largest_leaf(self.rows, signs, group, tree, members) <= level, "a list is not complete")
        state.listed = _List(tier, level, [member for member in members if member[0] > level], self.rows)

    def _from_list(self, state: _State, j: Any, count: Any) -> None:
        """Step F (R34)."""
        j = whole(j, 0, self.neurons, "neuron")
        listed = state.listed
        if listed is None:
            raise CertificateError("a step refers to a list that does not exist")
        count = whole(count, 0, len(listed.bounds) + 1, "number of members")
        need = self._need(state, j)
        require(self.tiers[j] >= listed.tier, "a list is used for a neuron that it does not cover")
        require(need > listed.level and all(b < need for b in listed.bounds[count:]), "a left-out member is possible")
        if not listed.narrow(state.neurons[j], count):
            state.dead = True

    def _shapes(self, state: _State, row: Any, marked: Any, entries: Any, trees: Any) -> None:
        """Step Y: bound the lowest tier by all ways to divide rows that no other neuron separates (R35)."""
        row = whole(row, 0, len(self.rows), "row")
        require(len(state.components) > 1, "shapes need neurons of a higher tier")
        neurons = self.tiers.count(0)
        require(neurons <= MOST_NEURONS, "too many neurons for shapes")
        require(isinstance(marked, list) and marked, "marked rows are missing")
        marked = [whole(k, 0, len(self.rows), "marked row") for k in marked]
        group = state.components[1]
        members = [k for k, g in enumerate(group) if g == group[row]]
        known = state.labels
        if known is None or (known.row, known.marked) != (row, marked):
            # Rows merged with a row stay merged with it, so earlier bounds hold as long as row and marks are the same.
            known = LabelBounds(row, marked)
        state.labels = known.extended(self.rows, members, entries)
        # No neuron of the lowest tier has a wider margin than any other.
        cap = min(n.bound for n, tier in zip(state.neurons, self.tiers, strict=True) if tier)
        state.labels.refine(self.rows, members, trees, neurons, cap)
        together = state.labels.together(neurons, cap, self.work)
        state.together = together if state.together is None else min(together, state.together)

    def _opposed(self, state: _State, a: Any, b: Any) -> None:
        """Step A (R36)."""
        a, b = (whole(k, 0, len(self.rows), "row") for k in (a, b))
        # Without biases and sums of 0, opposite signs in one layer are opposite signs in the next.
        require(self.rows.codes[a] == self.rows.codes[b], "opposed rows have different codes")
        require(all(n.separates(a, b) for n in state.neurons), "rows are not opposed in every neuron")
        state.dead = True

    def _bound_upper(self, state: _State, a: Any, b: Any) -> None:
        """Step G (R37)."""
        a, b = self._different(a, b)
        require(len(self.rows.layers) > 2, "a step refers to upper layers that do not exist")
        low = sum(n.separates(a, b) for n in state.neurons)
        high = low + sum(n.can_separate(a, b) for n in state.neurons)
        if high == 0:
            state.dead = True
            return
        d = sum(p != q for p, q in zip(self.rows.codes[a], self.rows.codes[b], strict=True))
        values = [self.upper[h][d] for h in range(max(low, 1), high + 1)]
        state.upper = min(state.upper, max(v for v in values if v is not None))

    def _separations(self, state: _State, a: Any, b: Any) -> list[Callable[[], _State]]:
        """Children of "which class of neurons is the first to separate a and b" (S, R39)."""
        a, b = self._different(a, b)
        children: list[Callable[[], _State]] = []
        earlier: list[int] = []

        def child(together: list[int], j: int | None = None, sign: int = 0) -> _State:
            new = state.copy()
            self.work.spend(len(self.rows) * (len(together) + 2))
            new.dead = not all([new.neurons[i].equate(a, b) for i in together])
            if j is not None:
                neuron = new.neurons[j]
                new.dead = not (neuron.assign(a, sign) and neuron.assign(b, -sign)) or new.dead
            return new

        for members in self._classes(state):
            turns = state.neurons[members[0]].orientations(a, b)
            children += [partial(child, earlier, members[0], sign) for sign in turns]
            if turns:
                earlier = earlier + members
        if any(n.separates(a, b) for n in state.neurons):
            children.append(partial(child, earlier))
        return children

    def _signs(self, state: _State, j: Any, row: Any) -> list[Callable[[], _State]]:
        """Children for both signs of a row in a neuron; one is enough in a neuron that may be flipped (T, R40)."""
        j, row = whole(j, 0, self.neurons, "neuron"), whole(row, 0, len(self.rows), "row")
        require(state.neurons[j].signs[row] == 0, "a branching is on a row that has a sign already")

        def child(sign: int) -> _State:
            new = state.copy()
            new.neurons[j].assign(row, sign)
            return new

        return [partial(child, sign) for sign in ((1, -1) if any(state.neurons[j].signs) else (1,))]

    def _margins(self, state: _State, j: Any, level: Any) -> list[Callable[[], _State]]:
        """Children of "neuron j, and with it all of higher tiers, has a margin above the level", and not (V, R41)."""
        j = whole(j, 0, self.neurons, "neuron")
        level = whole(level, 0, LARGEST_MARGIN, "level")
        # Other steps rely on neurons of one tier being interchangeable; a floor or ceiling for one would break that.
        require(self.tiers.count(self.tiers[j]) == 1, "a level splits a neuron that may change places with another")

        def strong() -> _State:
            new = state.copy()
            for i in range(self.neurons):
                if i == j or self.tiers[i] > self.tiers[j]:
                    new.floors[i] = max(new.floors[i], level + 1)
            return new

        def weak() -> _State:
            new = state.copy()
            new.neurons[j].bound = min(new.neurons[j].bound, level)
            return new

        return [strong, weak]
