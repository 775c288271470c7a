import { readIndex } from '../../../../core/catalog/listings/discovery/read-index.ts'
import { createPool } from '../../../../core/db/pool.ts'
import { createEgress } from '../../../../core/egress/egress.ts'

/** Import in a separate process, to be killed. Arguments: database URL, port of the index. */
const [url = '', port = ''] = process.argv.slice(2)
const sandboxHosts = new Map([['index.test', Number(port)]])
const pool = createPool(url, { role: 'hub_app' })
const egress = createEgress({ sandboxHosts, userAgent: 'AgentHub/0' })
const index = { name: 'cdp', url: 'http://index.test/discovery/resources' }
const outcome = await readIndex({ pool, egress, rules: { sandboxHosts } }, index)
process.stdout.write(`${JSON.stringify(outcome)}\n`)
await egress.close()
await pool.end()
