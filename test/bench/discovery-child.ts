import { readFileSync } from 'node:fs'
import { readIndex } from '../../core/catalog/listings/discovery/read-index.ts'
import { createPool } from '../../core/db/pool.ts'
import { createEgress } from '../../core/egress/egress.ts'

/**
 * Program: imports an index once and reports the resources used by this process and by the
 * database.
 */
const [url = '', port = ''] = process.argv.slice(2)
const sandboxHosts = new Map([['index.test', Number(port)]])
const pool = createPool(url, { role: 'hub_app', max: 1 })
const egress = createEgress({ sandboxHosts, userAgent: 'AgentHub/bench' })
const index = { name: 'bench', url: 'http://index.test/discovery/resources' }
const { rows } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
const before = process.cpuUsage()
const outcome = await readIndex({ pool, egress, rules: { sandboxHosts } }, index)
const { user, system } = process.cpuUsage(before)
const taken = {
  outcome,
  cpuSeconds: (user + system) / 1e6,
  databaseSeconds: backendSeconds(rows[0]!.pid),
  peakMiB: process.resourceUsage().maxRSS / 1_024,
}
process.stdout.write(JSON.stringify(taken))
await egress.close()
await pool.end()

/** Returns the CPU time of a local process; Linux reports it in ticks of 10 ms. */
function backendSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) / 100
  } catch {
    return 0
  }
}
