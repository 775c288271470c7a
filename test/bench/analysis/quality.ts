import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { atLeast, none, type Report, type Target } from '../report.ts'
import { classRows } from './classes.ts'
import { entityRows } from './entities.ts'
import type { Row } from './rows.ts'
import { aspectRows, sentimentRows } from './sentiment.ts'
import { corporaIn } from './texts.ts'

const DATA = fileURLToPath(new URL('../../../../shared/data/analysis/dev/', import.meta.url))
const PEERS = ['compromise', 'wink', 'vader']

/**
 * Rows are matched by parts of their names, because other halves of a corpus are named differently.
 */
const GOALS: readonly (readonly [string, RegExp, number])[] = [
  ['names, CoNLL-2003', /^conll.* names$/, 70],
  ['names, EWT', /^ewt.* names$/, 68],
  ['names, WNUT17', /^wnut.* names$/, 48],
  ['dates, re3d', /^re3d.* date$/, 70],
  ['amounts, re3d', /^re3d.* amount$/, 58],
  ['sentiment, SST-2', /^sst2/, 76],
  ['sentiment, UCI sentences', /^uci/, 88],
  ['aspect polarity, restaurants', /^restaurants.* aspect polarity$/, 76],
  ['aspect polarity, laptops', /^laptops.* aspect polarity$/, 67],
  ['classes, AG News by names', /^agnews.* names$/, 74],
  ['classes, AG News by descriptions', /^agnews.* descriptions$/, 85],
]

/**
 * Quality of the embedded engine on a folder of labeled texts, compared with npm libraries in the
 * same run. File prefixes select the task (ner_, sent_, absa_, cls_). Files that the models were
 * trained on are evaluated with models that were not.
 */
export async function analysisQuality(data = DATA): Promise<Report> {
  if (!existsSync(data)) {
    console.error('skipped: there are no development texts beside the repository; give --data DIR')
    return { name: 'analysis-quality', figures: {}, targets: [] }
  }
  const rows = [
    ...entityRows(corporaIn(data, 'ner')),
    ...sentimentRows(corporaIn(data, 'sent')),
    ...aspectRows(corporaIn(data, 'absa')),
    ...classRows(corporaIn(data, 'cls')),
  ]
  return {
    name: 'analysis-quality',
    figures: Object.fromEntries(rows.flatMap(figuresOf)),
    tables: [tableOf(rows)],
    targets: [...targetsOf(rows), aheadOf(rows)],
  }
}

const figuresOf = ({ name, ours, peers, error }: Row): [string, number][] => [
  [name, ours],
  ...Object.entries(peers).map(([peer, value]): [string, number] => [`${name}, ${peer}`, value]),
  ...(error === undefined ? [] : [[`${name}, calibration error`, error] as [string, number]]),
]

const tableOf = (rows: readonly Row[]) => ({
  title: 'F1 or accuracy, percent; calibration error (ECE), points',
  columns: ['', 'judged by', 'texts', 'ours', ...PEERS, 'ECE'],
  rows: rows.map(({ name, note, texts, ours, peers, error }) => [
    name,
    note,
    texts,
    ours,
    ...PEERS.map((peer) => peers[peer] ?? ''),
    error ?? '',
  ]),
})

const targetsOf = (rows: readonly Row[]): Target[] =>
  GOALS.flatMap(([name, pattern, goal]) => {
    const row = rows.find((one) => pattern.test(one.name))
    return row === undefined ? [] : [atLeast(name, row.ours, goal)]
  })

/** Rows with few samples are listed as well: nothing is left out. */
const aheadOf = (rows: readonly Row[]): Target => {
  const behind = rows.filter(({ ours, peers }) => Object.values(peers).some((one) => one >= ours))
  for (const { name } of behind) console.error(`a library is ahead: ${name}`)
  return none('rows in which a library is ahead', behind.length)
}
