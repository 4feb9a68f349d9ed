"""What a layer may have instead of attention over all tokens and one MLP: each a small record that `Model` is given."""

from scaling._array import Array, maximum
from scaling._checks import whole
from scaling._records import Record


class Window(Record):
    """Attention of some `layers` to the last `tokens` alone, S_win: their cache stops growing there.

    The model's other layers look at all tokens. Leaves out, for attention in chunks, that a chunk starts empty: errs
    high, by half a chunk on average.

    Raises ``ValueError`` for a count below 1.
    """

    tokens: int
    layers: int

    def __post_init__(self) -> None:
        for name in ("tokens", "layers"):
            object.__setattr__(self, name, whole(f"Window.{name}", getattr(self, name)))

    def beyond(self, context: Array) -> Array:
        """Tokens of a context that these layers have forgotten. [tokens per sequence]"""
        return maximum(0.0, 1.0 * context - self.tokens)


class Latent(Record):
    """Multi-head latent attention in every layer: one vector a token, from which each head's key and value are made.

    Fields: widths of the vectors that queries (`q_rank`) and keys and values (`kv_rank`) are squeezed into, and of what
    each head makes of them: `nope_dim` and `rope_dim` of a key, the second shared by all heads, and `value_dim`.

    Raises ``ValueError`` for a count below 1.
    Source: DeepSeek-V2, arXiv 2405.04434.
    """

    q_rank: int
    kv_rank: int
    rope_dim: int
    nope_dim: int
    value_dim: int

    def __post_init__(self) -> None:
        for name in self._fields:
            object.__setattr__(self, name, whole(f"Latent.{name}", getattr(self, name)))

    @property
    def numbers(self) -> int:
        """What one token leaves in the cache of one layer."""
        return self.kv_rank + self.rope_dim

    @property
    def norms(self) -> int:
        """Weights of the norms of the two squeezed vectors, one layer."""
        return self.q_rank + self.kv_rank

    def squeezing(self, d_model: int) -> int:
        """Parameters of the projections into the squeezed vectors, one layer: every chip keeps all of them."""
        return d_model * (self.q_rank + self.numbers)

    def params(self, d_model: int, heads: int) -> int:
        """Parameters of all projections of one layer."""
        queries = self.q_rank * heads * (self.nope_dim + self.rope_dim)
        keys_and_values = self.kv_rank * heads * (self.nope_dim + self.value_dim)
        return self.squeezing(d_model) + queries + keys_and_values + heads * self.value_dim * d_model


class Experts(Record):
    """MLPs of some `layers`, E of them `routed`, of which a router chooses k, `active`, for each token.

    `d_ff`: width of one. `shared_d_ff`: width of what every token passes as well, 0 for none.
    `router_bias`: whether the router adds a number for each expert.

    Raises ``ValueError`` for a count below 1, or more active experts than there are.
    """

    layers: int
    routed: int
    active: int
    d_ff: int
    shared_d_ff: int = 0
    router_bias: bool = False

    def __post_init__(self) -> None:
        for name in ("layers", "routed", "active", "d_ff"):
            object.__setattr__(self, name, whole(f"Experts.{name}", getattr(self, name)))
        if self.shared_d_ff != 0:
            object.__setattr__(self, "shared_d_ff", whole("Experts.shared_d_ff", self.shared_d_ff))
        if self.active > self.routed:
            raise ValueError(f"Experts.active must be at most the {self.routed} routed, not {self.active}.")

    def idle(self, tokens: Array) -> Array:
        """Share of the experts that no token of a step chose, a mean over uniform routing: (1 - k / E) to the B. [-]

        `tokens`: B, that pass the model together. [sequences]

        Leaves out that real routers favour some experts: errs low, so a step reads fewer than this says.

        Source: each token misses an expert with probability 1 - k / E, independently of the others.
        """
        B, k, E = tokens, self.active, self.routed
        return (1.0 - k / E) ** (1.0 * B)
