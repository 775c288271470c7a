import { parentPort, workerData } from 'node:worker_threads'
import { type ConfiguredExtractor, extractorWith } from './extractor.ts'
import type { Job } from './measure.ts'
import { type Match, matchOf } from './metric.ts'
import { keyOf, type PageMatches } from './page-matches.ts'
import { beginPage } from './page-state.ts'
import { type Page, readKinds } from './pages.ts'
import { EXTRACTORS } from './peers.ts'
import { endTrace, isEffective } from './trace.ts'

const { folder, thread, threads, configurations, measured } = workerData as Job

const shipped = await extractorWith([])
const extractors: (ConfiguredExtractor | undefined)[] = []
for (const names of configurations) {
  extractors.push(names.some((name) => name in EXTRACTORS) ? undefined : await extractorWith(names))
}

/** Matches of one page in every configuration, of which most give the same text. */
async function matchesOf({ html, url, truth }: Page): Promise<Match[]> {
  const known = new Map<string, Match>()
  const matchOfText = (text: string): Match => {
    const match = known.get(text) ?? matchOf(truth, text)
    known.set(text, match)
    return match
  }
  beginPage(html)
  const usual = matchOfText(shipped.textOf(html, url))
  endTrace()
  const matches: Match[] = []
  for (const [at, extractor] of extractors.entries()) {
    const peer = EXTRACTORS[configurations[at]![0] ?? '']
    if (peer) matches.push(matchOfText(await peer(html, url).catch(() => '')))
    else if (extractor!.variants?.some(isEffective) === false) matches.push(usual)
    else matches.push(matchOfText(extractor!.textOf(html, url)))
  }
  return matches
}

for (const [kind, pages] of Object.entries(readKinds(folder))) {
  for (const [at, page] of pages.entries()) {
    if (at % threads !== thread || measured.has(keyOf({ kind, at }))) continue
    const result: PageMatches = { kind, at, matches: await matchesOf(page) }
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
    parentPort!.postMessage(result)
  }
}
