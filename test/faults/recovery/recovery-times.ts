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
  /** Longest time without a successful call, from the beginning until some seconds later. */
  readonly interruptions: readonly number[]
  /** From the end of the outage until the first successful call. */
  readonly firstSuccesses: readonly number[]
  /** From then until the final answer of each request that was cut off or refused. */
  readonly finalAnswers: readonly number[]
}

/** Groups of calls that recover in the same way, by the kind of their requests. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  native: ['credits', 'free', 'free units', 'stream', 'sub-key', 'metered', 'siwx'],
  x402: ['x402', 'x402 upfront', 'upto'],
  mpp: ['mpp'],
  polygon: ['x402 polygon'],
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
        interruptions: own.map((window) => longestGap(sent, window)),
        firstSuccesses: own.flatMap((window) => firstSuccess(sent, window)),
        finalAnswers: own.flatMap((window) => finalAnswers(sent, window)),
      }
    }),
  )
}

type Window = FaultWindow & { readonly endAt: number }

const successTimes = (sent: readonly LoggedRequest[]): readonly number[] =>
  sent
    .flatMap((request) => request.attempts)
    .flatMap(({ status = 0, endedAt = 0 }) => (status >= 200 && status < 300 ? endedAt : []))
    .sort((a, b) => a - b)

function firstSuccess(sent: readonly LoggedRequest[], { backAt }: Window): readonly number[] {
  const first = successTimes(sent).find((at) => at >= backAt)
  return first === undefined ? [] : [first - backAt]
}

/** Time after a repair in which calls succeed again. */
const SUCCESS_MS = 5_000

function longestGap(sent: readonly LoggedRequest[], { begunAt, backAt }: Window): number {
  const times = successTimes(sent).filter((at) => at >= begunAt && at <= backAt + SUCCESS_MS)
  const gaps = times.map((at, n) => at - (times[n - 1] ?? begunAt))
  return Math.max(0, ...gaps)
}

/**
 * Times of requests whose first failure is of this fault. That of an external call ends when the
 * attempt is sent that gets the final answer: some sellers take fifteen seconds, or never answer.
 */
function finalAnswers(
  sent: readonly LoggedRequest[],
  { begunAt, backAt, endAt }: Window,
): number[] {
  return sent.flatMap((request) => {
    const failed = request.attempts.find((attempt) => describe(attempt) !== undefined)
    const final = finalAnswer(request)
    if (!failed || failed === final || !final || !isRepeatable(request)) return []
    const isHit = failed.endedAt! >= begunAt && failed.endedAt! < endAt
    const answeredAt = request.seller === undefined ? final.endedAt! : final.sentAt
    return isHit ? Math.max(0, answeredAt - backAt) : []
  })
}

/** Returns the median, of an even number of values the mean of the two in the middle. */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const [low = 0, high = low] = [
    sorted[Math.floor((sorted.length - 1) / 2)],
    sorted[Math.floor(sorted.length / 2)],
  ]
  return (low + high) / 2
}

/** Milliseconds within which a group has its final answers after the repair, in the median. */
const FINAL_ANSWER_MS: Readonly<Record<string, number>> = { external: 15_000 }
const FINAL_ANSWER_DEFAULT_MS = 5_000
/** Milliseconds within which the calls of a killed hub succeed again. */
const INTERRUPTION_MS: Readonly<Record<string, number>> = { 'kill -9 of the hub': 3_000 }

/**
 * Returns one line per measurement whose median exceeds its target.
 * @param slowness of the machine, by which targets are multiplied
 */
export function findSlowRecoveries(all: readonly RecoveryTimes[], slowness: number): string[] {
  return all.flatMap(({ fault, calls, interruptions, finalAnswers }) => {
    const answerTargetMs = slowness * (FINAL_ANSWER_MS[calls] ?? FINAL_ANSWER_DEFAULT_MS)
    const interruptionMs = INTERRUPTION_MS[fault] ?? Infinity
    const servesTargetMs = calls === 'native' ? slowness * interruptionMs : Infinity
    const answerMs = median(finalAnswers)
    const servesMs = median(interruptions)
    return [
      ...(answerMs > answerTargetMs
        ? [`${fault}: final answers of ${calls} after ${answerMs} ms`]
        : []),
      ...(servesMs > servesTargetMs
        ? [`${fault}: serves ${calls} calls after ${servesMs} ms`]
        : []),
    ]
  })
}

/** Formats the measurements as a table; times are in seconds. */
export function printTable(all: readonly RecoveryTimes[]): string {
  const rows = all.map(({ fault, calls, outages, interruptions, firstSuccesses, finalAnswers }) => [
    fault,
    seconds(median(outages)),
    calls,
    seconds(median(interruptions)),
    ...summarize(firstSuccesses),
    ...summarize(finalAnswers),
  ])
  const times = ['number', 'median', 'max']
  return [
    `${' '.repeat(61)}${'first success'.padEnd(24)}final answer`,
    ...[['fault', 'outage', 'calls', 'interruption', ...times, ...times], ...rows].map(toLine),
  ].join('\n')
}

const summarize = (values: readonly number[]): string[] =>
  values.length === 0
    ? ['0', '', '']
    : [String(values.length), seconds(median(values)), seconds(Math.max(...values))]

const WIDTHS = [28, 9, 10, 14]
const toLine = (cells: readonly string[]): string =>
  cells.map((cell, n) => cell.padEnd(WIDTHS[n] ?? 8)).join('')

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)
