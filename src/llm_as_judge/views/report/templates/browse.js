"use strict";
// The browser of rollouts. Every text goes through textContent: nothing here makes markup of data.
(() => {
  const groups = JSON.parse(document.getElementById("data").textContent).groups;
  const byId = (id) => document.getElementById(id);
  if (!groups.length || !byId("list")) return;
  const PAGE = 12;
  groups.reverse(); // newest first
  groups.forEach((group, number) => { group.number = number; Object.assign(group, summed(group)); });

  let shown = groups, page = 0, chosen = null;

  function make(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children.filter((child) => child !== null));
    return node;
  }

  function summed(group) {
    const all = group.rollouts, graded = all.filter((r) => r.correct !== null);
    const rewards = all.map((r) => r.reward).filter((value) => value !== null);
    return {
      right: graded.filter((r) => r.correct).length,
      graded: graded.length,
      mean: rewards.length ? rewards.reduce((a, b) => a + b, 0) / rewards.length : null,
      operators: new Set(all.flatMap((r) => r.calls.map((call) => call.operator))),
    };
  }

  const outcomes = {
    mixed: (g) => g.right > 0 && g.right < g.graded,
    right: (g) => g.graded > 0 && g.right === g.graded,
    wrong: (g) => g.graded > 0 && g.right === 0,
    error: (g) => g.rollouts.some((r) => r.status !== "ok" && !r.failure),
    ungraded: (g) => g.graded < g.rollouts.length,
  };

  function contains(group, text) {
    const has = (value) => (value || "").toLowerCase().includes(text);
    const problem = group.problem || {};
    return has(group.id) || has(problem.question) || has(problem.context) ||
      group.rollouts.some((r) => has(r.source) || has(r.answer) || has(r.error) || has(r.failure));
  }

  function filter() {
    const domain = byId("f-domain").value, operator = byId("f-operator").value;
    const outcome = outcomes[byId("f-outcome").value], text = byId("f-text").value.trim().toLowerCase();
    shown = groups.filter((g) =>
      (!domain || g.domain === domain) && (!outcome || outcome(g)) &&
      (!operator || g.operators.has(operator)) && (!text || contains(g, text)));
    page = 0;
    if (shown.length && !shown.includes(chosen)) choose(shown[0], false);
    else list();
  }

  const signed = (value) => (value === null ? "-" : (value < 0 ? "" : "+") + value.toFixed(2));

  function list() {
    const pages = Math.max(1, Math.ceil(shown.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    byId("list").replaceChildren(...shown.slice(page * PAGE, (page + 1) * PAGE).map((group) => {
      const button = make("button", { type: "button", "data-number": group.number },
        make("span", { class: "id" }, group.id || "-"),
        make("span", {}, `${group.right}/${group.graded} right`),
        make("span", { class: "sub" }, `step ${group.step} · ${group.domain} · reward ${signed(group.mean)}`));
      if (group === chosen) button.setAttribute("aria-current", "true");
      button.addEventListener("click", () => choose(group, true));
      return make("li", {}, button);
    }));
    const programs = shown.reduce((sum, group) => sum + group.rollouts.length, 0);
    byId("count").textContent = `${shown.length} problems, ${programs} programs`;
    byId("page").textContent = `${page + 1} of ${pages}`;
    byId("back").disabled = page === 0;
    byId("forward").disabled = page === pages - 1;
  }

  function choose(group, focus) {
    chosen = group;
    const place = shown.indexOf(group);
    if (place >= 0) page = Math.floor(place / PAGE);
    list();
    const problem = group.problem;
    byId("group").replaceChildren(
      make("h3", {}, `${group.id} · step ${group.step}`),
      problem ? statement(problem) : make("p", { class: "note" },
        "The text of this problem is not in the run's folder, and the file it was drawn from was not found."),
      make("div", { class: "neighbors", tabindex: "0", role: "region", "aria-label": "Programs side by side" },
        ...distinct(group.rollouts).map(card)));
    history.replaceState(null, "", `#group-${group.number}`);
    if (focus) byId("group").focus({ preventScroll: window.innerWidth > 768 });
  }

  function statement(problem) {
    const text = [problem.context, problem.question, ...problem.options.map((o, i) => `${String.fromCharCode(65 + i)}. ${o}`)];
    const gold = problem.answers.length ? `\n\nReference: ${problem.answers.join(" | ")}` : "";
    return make("div", { class: "question", tabindex: "0", role: "region", "aria-label": "Problem" },
      text.filter(Boolean).join("\n\n") + gold);
  }

  // Programs that are equal up to names and layout are one card; one that could not be read is its text.
  function distinct(rollouts) {
    const alike = new Map();
    for (const r of rollouts) {
      const key = r.hash || `text ${r.source}`;
      alike.set(key, [...(alike.get(key) || []), r]);
    }
    return [...alike.values()];
  }

  // Runs of one program that ended alike: most often all of them.
  function outcomesOf(runs) {
    const alike = new Map();
    for (const r of runs) {
      const key = JSON.stringify([r.status, r.error, r.answer, r.correct, r.rule, r.explanation, r.failure, r.parts]);
      alike.set(key, [...(alike.get(key) || []), r]);
    }
    return [...alike.values()];
  }

  function verdict(r) {
    if (r.failure) return ["failed", "unsure"];
    if (r.correct === null) return ["not graded", "unsure"];
    return r.correct ? ["right", "good"] : ["wrong", "bad"];
  }

  function verdictOf(runs) {
    const [first, ...others] = runs.map(verdict);
    if (others.every(([word]) => word === first[0])) return first;
    const right = runs.filter((r) => verdict(r)[0] === "right").length;
    return [`${right} of ${runs.length} right`, "unsure"];
  }

  const numbers = (runs) => runs.map((r) => (r.index === null ? "-" : r.index + 1)).join(", ");
  const named = (runs) => (runs.length === 1 ? "Program " : "Programs ") + numbers(runs);

  function card(runs) {
    const r = runs[0], [word, kind] = verdictOf(runs), outcomes = outcomesOf(runs);
    const rewards = runs.map((run) => run.reward).filter((value) => value !== null);
    const mean = rewards.length ? rewards.reduce((a, b) => a + b, 0) / rewards.length : null;
    const validity = r.valid ? "valid as written" : r.repairs.length ? `repaired: ${r.repairs.join(", ")}` : "cannot run as written";
    const alike = runs.length > 1 ? `; ${runs.length} times the same program` : "";
    return make("article", { class: "card" },
      make("h4", {}, make("span", {}, named(runs)),
        make("span", { class: kind }, word), make("span", {}, `reward ${signed(mean)}`)),
      make("p", { class: "note" }, validity + (r.cut ? "; cut at the token limit" : "") + alike),
      program(r),
      ...outcomes.flatMap((alike) => outcome(alike, outcomes.length > 1)));
  }

  function outcome(runs, oneOfSeveral) {
    const r = runs[0], [word, kind] = verdict(r);
    return [
      oneOfSeveral ? make("h5", { class: "runs" }, `${named(runs)}: `, make("span", { class: kind }, word)) : null,
      titled("Run", r.status + (r.error ? `: ${r.error}` : "")),
      calls(r.calls),
      titled("Answer", r.answer),
      titled("Verdict", [r.rule, r.explanation].filter(Boolean).join(": ")),
      titled("Failure (ours)", r.failure),
      parts(r.parts)];
  }

  function titled(title, text) {
    if (!text) return null;
    return make("div", {}, make("h5", {}, title), make("p", { class: "text" }, text));
  }

  function program(r) {
    const code = make("pre", { tabindex: "0", "aria-label": "Program" });
    const said = (finding) => make("span", { class: "finding" },
      `  ${finding.code} ${finding.message}${finding.hint ? ` (${finding.hint})` : ""}\n`);
    r.findings.filter((f) => f.line < 1).forEach((f) => code.append(said(f)));
    r.source.split("\n").forEach((line, i) => {
      code.append(make("span", { class: "line" }, `${String(i + 1).padStart(2)}  ${line}\n`));
      r.findings.filter((f) => f.line === i + 1).forEach((f) => code.append(said(f)));
    });
    return code;
  }

  function table(head, rows) {
    return make("table", {},
      make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((text) => make("td", {}, String(text)))))));
  }

  function calls(all) {
    if (!all.length) return null;
    const said = (c) => [
      c.operator, `${c.calls} call${c.calls === 1 ? "" : "s"}` + (c.shared ? ` (${c.shared} shared)` : ""),
      `${c.prompt} + ${c.completion} tokens`, c.usd === null ? "price unknown" : `$${Number(c.usd.toPrecision(3))}`,
      c.error, ...c.notes];
    return make("div", {}, make("h5", {}, "Operator calls"),
      make("ul", {}, ...all.map((c) => make("li", {}, said(c).filter(Boolean).join(" · ")))));
  }

  function parts(all) {
    const rows = Object.entries(all);
    if (!rows.length) return null;
    return make("div", {}, make("h5", {}, "Reward parts"),
      table(["part", "score", "weight"], rows.map(([name, [score, weight]]) => [name, signed(score), weight === null ? "-" : weight])));
  }

  function step(by) {
    if (!shown.length) return;
    const place = chosen ? shown.indexOf(chosen) : -1;
    choose(shown[Math.min(Math.max(place + by, 0), shown.length - 1)], true);
  }

  function offer(select, values) {
    [...values].sort().forEach((value) => select.append(make("option", { value }, value)));
  }

  offer(byId("f-domain"), new Set(groups.map((g) => g.domain)));
  offer(byId("f-operator"), new Set(groups.flatMap((g) => [...g.operators])));
  for (const id of ["f-domain", "f-outcome", "f-operator"]) byId(id).addEventListener("change", filter);
  byId("f-text").addEventListener("input", filter);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("back").addEventListener("click", () => { page -= 1; list(); });
  byId("forward").addEventListener("click", () => { page += 1; list(); });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "n") step(1);
    else if (event.key === "p") step(-1);
    else if (event.key === "/") { event.preventDefault(); byId("f-text").focus(); }
  });
  const linked = /^#group-(\d+)$/.exec(location.hash);
  list();
  if (linked && groups[Number(linked[1])]) choose(groups[Number(linked[1])], false);
  else if (groups.length) { const hash = location.hash; choose(groups[0], false); history.replaceState(null, "", hash || " "); }
})();
