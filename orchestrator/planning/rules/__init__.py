"""The planner without a model: every answer follows from the goal, the tools and what was found.

It goes one way. `chaining` is the planner. `split` makes legs of a goal's clauses, with the tool
that `target` finds for each. At a step, `situation` reads what is decided from; `next_call` is the
call of the target, or of a tool that produces what it lacks. `call_arguments` fills its `draft`,
each input from the surest of `utterance_sources`, `answer_sources`, `fact_sources` and
`text_sources`; what an input means is read by `parameters`.
"""
