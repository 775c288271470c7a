import type { Pool } from 'pg'
import {
  type DiscoveryStatus,
  readDiscoveryStatus,
  scheduleProbes,
  scheduleReading,
} from '../../../core/catalog/listings/discovery-status.ts'
import { type Command, EXIT_FAILED, optional, toJson, type Write } from '../command.ts'
import { type Program, runProgram } from '../run-program.ts'

const status: Command = {
  usage: '[--json]',
  description: `progress of each source, listings by state, and why rows were refused;
exit code 1 if a source cannot be read`,
  options: { json: { type: 'boolean' } },
  async run({ pool, write }, values) {
    const overview = await readDiscoveryStatus(await pool())
    await write(values['json'] === true ? toJson(overview) : describeStatus(overview))
    return overview.sources.some(({ failures }) => failures > 0) ? EXIT_FAILED : 0
  },
}

const discover: Command = {
  usage: '[SOURCE]',
  description: 'read all sources, or one that status names, at the next run of the job',
  options: {},
  words: 1,
  async run({ pool, write }, _values, words) {
    const sources = await scheduleReading(await pool(), words[0])
    await write(sources.length === 0 ? 'No such source.\n' : `${sources.join('\n')}\n`)
    return sources.length === 0 ? EXIT_FAILED : 0
  },
}

const probe: Command = {
  usage: '[--host HOST]',
  description: 'probe all listings, or those of one host, at the next run of the job',
  options: { host: { type: 'string' } },
  async run({ pool, write }, values) {
    const count = await scheduleProbes(await pool(), optional(values['host'])?.toLowerCase())
    await write(`${count} listings are due.\n`)
    return 0
  },
}

const PROGRAM: Program = {
  name: 'listings',
  commands: { status, discover, probe },
  footer: 'The jobs of a running hub do the work.',
}

/**
 * Runs `npm run listings`. @param connect opens connections of the role `hub_app`
 * @returns the exit code: 0; 1 if something needs attention; 2 for a usage error
 */
export const listingsCommand = (
  connect: () => Promise<Pool>,
  args: readonly string[],
  write: Write,
  tell?: Write,
): Promise<number> => runProgram(PROGRAM, { connect: connect, args, write, tell })

function describeStatus({ sources, listings, refused, due, probedToday }: DiscoveryStatus): string {
  const lines = [
    'Sources',
    ...sources.map(({ source, pass, rows, finishedAt, error, nextAt }) => {
      const last = finishedAt === null ? 'never completed' : `completed ${finishedAt.toISOString()}`
      const trouble = error === null ? '' : `; ${error} Next attempt ${nextAt.toISOString()}`
      return `  ${source}: pass ${pass}, ${rows} rows so far, ${last}${trouble}`
    }),
    'Listings',
    ...listings.map(({ state, reason, count }) =>
      `  ${String(count).padStart(8)}  ${state} ${reason ?? ''}`.trimEnd(),
    ),
    'Refused rows',
    ...refused.map(
      ({ source, reason, count }) => `  ${String(count).padStart(8)}  ${source}: ${reason}`,
    ),
    `Probes: ${probedToday} today, ${due} due`,
  ]
  return `${lines.join('\n')}\n`
}
