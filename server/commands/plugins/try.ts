import { once } from 'node:events'
import { elapsedMs } from '../../../core/clock.ts'
import type { Entry } from '../../../core/hosting/entry.ts'
import { examine } from '../../../core/hosting/hosting.ts'
import { createLog } from '../../../core/log.ts'
import { conformance, troubled } from '../../../core/testing/index.ts'
import { FAILED, toJson } from '../ledger/command.ts'
import type { Surroundings } from './index.ts'
import { startTrial, type TrialHub } from './trial.ts'

interface Result {
  readonly name: string
  readonly ok: boolean
  /** What is wrong. */
  readonly problem?: string
}

/**
 * Has a plugin meet every demand of the conformance suite, in a sandbox of its own.
 * @returns the exit code: 1 where it does not meet one, or cannot be sold at all
 */
export async function tryOut(around: Surroundings, entry: Entry, json: boolean): Promise<number> {
  const { write } = around
  const start = elapsedMs()
  const lines: string[] = []
  const out = { write: (line: string) => lines.push(line) }
  const trial = await open(around, entry, out).catch((error: Error) => error)
  if (trial instanceof Error) {
    const { message: problem } = trial
    await write(json ? toJson({ plugin: entry.spec, ok: false, problem }) : `✗ ${problem}\n`)
    return FAILED
  }
  try {
    const { service, running, client } = trial
    for (const twin of troubled(service)) await running.hub.catalog.put(twin)
    const results: Result[] = []
    for (const { name, meet } of conformance(service, { client: () => client })) {
      lines.length = 0
      const result = await meet().then(
        (): Result => ({ name, ok: true }),
        (error: Error): Result => ({ name, ok: false, problem: withCauses(error, lines) }),
      )
      results.push(result)
      if (!json) await write(lineOf(result))
    }
    const bad = results.filter(({ ok }) => !ok)
    const seconds = Math.round((elapsedMs() - start) / 100) / 10
    const about = { plugin: entry.spec, service: service.slug, ok: bad.length === 0, seconds }
    const met = `${results.length - bad.length} of ${results.length} demands met`
    await write(json ? toJson({ ...about, demands: results }) : `\n${met}, ${seconds} s\n`)
    return bad.length === 0 ? 0 : FAILED
  } finally {
    await trial.stop()
  }
}

/** What a caller is told of a failure has no details: they are in the log. */
function withCauses({ message }: Error, lines: readonly string[]): string {
  const causes = lines.map(
    (line) => (JSON.parse(line) as { err?: { message?: string } }).err?.message,
  )
  return [message, ...new Set(causes.filter((cause) => cause !== undefined))].join('; logged: ')
}

const lineOf = ({ name, ok, problem }: Result): string =>
  ok ? `✓ ${name}\n` : `✗ ${name}\n    ${problem}\n`

/** Sells a plugin in a sandbox until whoever asked for it is gone. */
export async function keepOpen(around: Surroundings, entry: Entry): Promise<number> {
  const trial = await open(around, entry).catch((error: Error) => error)
  if (trial instanceof Error) {
    await around.write(toJson({ problem: trial.message }))
    return FAILED
  }
  const { running, service, apiKey } = trial
  await around.write(toJson({ url: running.url, apiKey, service: service.slug }))
  await once(process.stdin.resume(), 'end')
  await trial.stop()
  return 0
}

/** @throws Error that says why it cannot be sold */
async function open(
  { parts, config, host }: Surroundings,
  entry: Entry,
  out?: { write(line: string): unknown },
): Promise<TrialHub> {
  await examine(entry, { host, databaseUrl: '', log: createLog('silent') }, config.hosting)
  return startTrial(parts, config, entry, out)
}
