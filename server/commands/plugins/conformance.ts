import { once } from 'node:events'
import { elapsedMs } from '../../../core/clock.ts'
import type { PluginEntry } from '../../../core/hosting/entry.ts'
import { examinePlugin } from '../../../core/hosting/host-plugin.ts'
import { createLog } from '../../../core/log.ts'
import { conformance, misbehavingVariants } from '../../../core/testing/index.ts'
import { EXIT_FAILED, toJson } from '../command.ts'
import { type PluginsCommandDeps, startTrial, type TrialHub } from './trial.ts'

interface Result {
  readonly name: string
  readonly ok: boolean
  /** Reason that the demand is not met. */
  readonly problem?: string
}

/** Runs the conformance suite in a sandbox. @returns the exit code: 1 if a demand fails */
export async function runConformance(
  deps: PluginsCommandDeps,
  entry: PluginEntry,
  json: boolean,
): Promise<number> {
  const { write } = deps
  const start = elapsedMs()
  const lines: string[] = []
  const out = { write: (line: string) => lines.push(line) }
  const trial = await startCheckedTrial(deps, entry, out).catch((error: Error) => error)
  if (trial instanceof Error) {
    const { message: problem } = trial
    await write(json ? toJson({ plugin: entry.spec, ok: false, problem }) : `✗ ${problem}\n`)
    return EXIT_FAILED
  }
  try {
    const { service, running, client } = trial
    for (const twin of misbehavingVariants(service)) await running.hub.catalog.publish(twin)
    const results: Result[] = []
    for (const { name, meet } of conformance(service, { client: () => client })) {
      lines.length = 0
      const result = await meet().then(
        (): Result => ({ name, ok: true }),
        (error: Error): Result => ({ name, ok: false, problem: withCauses(error, lines) }),
      )
      results.push(result)
      if (!json) await write(describeResult(result))
    }
    const bad = results.filter(({ ok }) => !ok)
    const seconds = Math.round((elapsedMs() - start) / 100) / 10
    const about = { plugin: entry.spec, service: service.slug, ok: bad.length === 0, seconds }
    const met = `${results.length - bad.length} of ${results.length} demands met`
    await write(json ? toJson({ ...about, demands: results }) : `\n${met}, ${seconds} s\n`)
    return bad.length === 0 ? 0 : EXIT_FAILED
  } finally {
    await trial.stop()
  }
}

/** Adds the logged causes to a failure, whose response has no details. */
function withCauses({ message }: Error, lines: readonly string[]): string {
  const causes = lines.map(
    (line) => (JSON.parse(line) as { err?: { message?: string } }).err?.message,
  )
  return [message, ...new Set(causes.filter((cause) => cause !== undefined))].join('; logged: ')
}

const describeResult = ({ name, ok, problem }: Result): string =>
  ok ? `✓ ${name}\n` : `✗ ${name}\n    ${problem}\n`

/** Runs a plugin in a sandbox until standard input ends. */
export async function runSandbox(deps: PluginsCommandDeps, entry: PluginEntry): Promise<number> {
  const trial = await startCheckedTrial(deps, entry).catch((error: Error) => error)
  if (trial instanceof Error) {
    await deps.write(toJson({ problem: trial.message }))
    return EXIT_FAILED
  }
  const { running, service, apiKey } = trial
  await deps.write(toJson({ url: running.url, apiKey, service: service.slug }))
  await once(process.stdin.resume(), 'end')
  await trial.stop()
  return 0
}

/** Examines a plugin and starts its sandbox. @throws Error that says why it cannot be sold */
async function startCheckedTrial(
  { loadParts, config, host }: PluginsCommandDeps,
  entry: PluginEntry,
  out?: { write(line: string): unknown },
): Promise<TrialHub> {
  await examinePlugin(entry, { host, databaseUrl: '', log: createLog('silent') }, config.hosting)
  return startTrial(loadParts, config, entry, out)
}
