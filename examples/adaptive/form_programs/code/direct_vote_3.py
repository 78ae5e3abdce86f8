drafts = []
for _ in range(3):
    reply = await custom_code_generate(problem=problem, entry_point=entry_point, instruction="")
    drafts.append(reply["response"])
best = await vote(solutions=drafts)
return best["answer"]
