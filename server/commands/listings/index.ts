import type { Pool } from 'pg'
import {
  type CatalogOverview,
  catalogOverview,
  probeSoon,
  readSoon,
} from '../../../core/catalog/listings/overview.ts'
import { type Command, FAILED, optional, toJson, type Write } from '../ledger/command.ts'
import { type Program, runProgram } from '../run-program.ts'

const status: Command = {
  usage: '[--json]',
  about: `how far each source was read, listings by state, and why rows were refused;
exit code 1 when a source cannot be read`,
  options: { json: { type: 'boolean' } },
  async run({ pool, write }, values) {
    const overview = await catalogOverview(await pool())
    await write(values['json'] === true ? toJson(overview) : told(overview))
    return overview.sources.some(({ failures }) => failures > 0) ? FAILED : 0
  },
}

const discover: Command = {
  usage: '[SOURCE]',
  about:
    'has sources read again by the next run of the job: all, or one of those that status names',
  options: {},
  words: 1,
  async run({ pool, write }, _values, words) {
    const sources = await readSoon(await pool(), words[0])
    await write(sources.length === 0 ? 'There is no such source.\n' : `${sources.join('\n')}\n`)
    return sources.length === 0 ? FAILED : 0
  },
}

const probe: Command = {
  usage: '[--host HOST]',
  about: 'has listings probed by the next run of the job: all, or those of a host',
  options: { host: { type: 'string' } },
  async run({ pool, write }, values) {
    const count = await probeSoon(await pool(), optional(values['host'])?.toLowerCase())
    await write(`${count} listings are due.\n`)
    return 0
  },
}

const PROGRAM: Program = {
  name: 'listings',
  commands: { status, discover, probe },
  remark: 'The jobs of a running hub do the work.',
}

/**
 * The command line of discovery and probes.
 * @param connect gives connections of the role `hub_app`
 * @param args what follows `npm run listings --`
 * @returns the exit code: 0, 1 when a person should look, 2 for a misuse
 */
export const listingsCommand = (
  connect: () => Promise<Pool>,
  args: readonly string[],
  write: Write,
  tell?: Write,
): Promise<number> => runProgram(PROGRAM, { connect, args, write, tell })

function told({ sources, listings, refused, due, probedToday }: CatalogOverview): string {
  const lines = [
    'Sources',
    ...sources.map(({ source, pass, rows, finishedAt, error, nextAt }) => {
      const last = finishedAt === null ? 'never whole' : `whole ${finishedAt.toISOString()}`
      const trouble = error === null ? '' : `; ${error} Next try ${nextAt.toISOString()}`
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
