drafts = []
for _ in range(3):
    reply = await programmer(problem=problem)
    drafts.append(reply["output"])
best = await vote(solutions=drafts)
return best["answer"]
