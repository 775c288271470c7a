import { openDatabase } from '../../../core/db/open.ts'

/** A hub that does nothing but have a database open, for tests that kill it. */
const { url } = await openDatabase({ dataDir: String(process.argv[2]) })
process.stdout.write(`${url}\n`)
setInterval(() => {}, 60_000)
