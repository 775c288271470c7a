import { describe } from './explanations.ts'
import {
  type ClientLog,
  type FaultWindow,
  finalAnswer,
  isRepeatable,
  type LoggedRequest,
} from './request-log.ts'

/** Durations of one kind of fault and one group of calls, in milliseconds. */
export interface RecoveryTimes {
  readonly fault: string
  readonly calls: string
  /** From the beginning of the fault until the part that failed works again. */
  readonly outages: readonly number[]
  /** From then until the first successful call. */
  readonly firstSuccesses: readonly number[]
  /** From then until the final answer of each request that was cut off or refused. */
  readonly finalAnswers: readonly number[]
}

/** Groups of calls that recover in the same way, by the kind of their requests. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  native: ['credits', 'free', 'stream', 'sub-key'],
  x402: ['x402', 'x402 upfront'],
  external: ['external'],
  'top-up': ['top-up'],
}

/** Measures how fast each group of calls recovers from each kind of fault. */
export function measureRecovery({ requests, faults }: ClientLog): RecoveryTimes[] {
  const windows = faults.map((fault, n) => ({
    ...fault,
    endAt: faults[n + 1]?.begunAt ?? Infinity,
  }))
  return [...Map.groupBy(windows, ({ name }) => name)].flatMap(([fault, own]) =>
    Object.entries(GROUPS).map(([calls, kinds]) => {
      const sent = requests.filter(({ kind }) => kinds.includes(kind))
      return {
        fault,
        calls,
        outages: own.map(({ begunAt, backAt }) => backAt - begunAt),
        firstSuccesses: own.flatMap((window) => firstSuccess(sent, window)),
        finalAnswers: own.flatMap((window) => finalAnswers(sent, window)),
      }
    }),
  )
}

type Window = FaultWindow & { readonly endAt: number }

function firstSuccess(sent: readonly LoggedRequest[], { backAt }: Window): number[] {
  const attempts = sent.flatMap((request) => request.attempts)
  const successes = attempts.flatMap(({ status = 0, endedAt = 0 }) =>
    status >= 200 && status < 300 && endedAt >= backAt ? endedAt : [],
  )
  return successes.length === 0 ? [] : [Math.min(...successes) - backAt]
}

/** Times of requests whose first failure is of this fault. */
function finalAnswers(
  sent: readonly LoggedRequest[],
  { begunAt, backAt, endAt }: Window,
): number[] {
  return sent.flatMap((request) => {
    const failed = request.attempts.find((attempt) => describe(attempt) !== undefined)
    const final = finalAnswer(request)
    if (!failed || failed === final || !final || !isRepeatable(request)) return []
    const isHit = failed.endedAt! >= begunAt && failed.endedAt! < endAt
    return isHit ? Math.max(0, final.endedAt! - backAt) : []
  })
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** Milliseconds within which a group has its final answers after the repair, in the median. */
const FINAL_ANSWER_MS: Readonly<Record<string, number>> = { external: 15_000 }
const FINAL_ANSWER_DEFAULT_MS = 5_000
/** Milliseconds within which a killed hub serves again. */
const SERVES_MS: Readonly<Record<string, number>> = { 'kill -9 of the hub': 3_000 }

/** Returns one line per measurement whose median exceeds its target. */
export function findSlowRecoveries(all: readonly RecoveryTimes[]): string[] {
  return all.flatMap(({ fault, calls, outages, finalAnswers }) => {
    const target = FINAL_ANSWER_MS[calls] ?? FINAL_ANSWER_DEFAULT_MS
    const answerMs = median(finalAnswers)
    const outageMs = median(outages)
    return [
      ...(answerMs > target ? [`${fault}: final answers of ${calls} after ${answerMs} ms`] : []),
      ...(outageMs > (SERVES_MS[fault] ?? Infinity)
        ? [`${fault}: serves after ${outageMs} ms`]
        : []),
    ]
  })
}

/** Formats the measurements as a table; times are in seconds. */
export function printTable(all: readonly RecoveryTimes[]): string {
  const rows = all.map(({ fault, calls, outages, firstSuccesses, finalAnswers }) => [
    fault,
    seconds(median(outages)),
    calls,
    ...summarize(firstSuccesses),
    ...summarize(finalAnswers),
  ])
  const times = ['number', 'median', 'max']
  return [
    `${' '.repeat(47)}${'first success'.padEnd(24)}final answer`,
    ...[['fault', 'outage', 'calls', ...times, ...times], ...rows].map(toLine),
  ].join('\n')
}

const summarize = (values: readonly number[]): string[] =>
  values.length === 0
    ? ['0', '', '']
    : [String(values.length), seconds(median(values)), seconds(Math.max(...values))]

const WIDTHS = [28, 9, 10]
const toLine = (cells: readonly string[]): string =>
  cells.map((cell, n) => cell.padEnd(WIDTHS[n] ?? 8)).join('')

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)
