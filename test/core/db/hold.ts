import { openDatabase } from '../../../core/db/open.ts'

/** Opens a database and waits, for tests that kill the process. */
const { url } = await openDatabase({ dataDir: String(process.argv[2]) })
process.stdout.write(`${url}\n`)
setInterval(() => {}, 60_000)
