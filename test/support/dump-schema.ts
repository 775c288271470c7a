import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LANDED, landedMigrations, migrationsNow } from './landed.ts'
import { freshDatabase, stopSharedCluster } from './postgres.ts'
import { EVENTS_BLOCK, eventsTable } from './readme-events.ts'
import { dumpSchema } from './schema-text.ts'

const FILE = join(import.meta.dirname, '../../core/db/schema.sql')
const README = join(import.meta.dirname, '../../core/README.md')

/**
 * `npm run db:dump`: rewrites core/db/schema.sql and the events table of core/README.md, and adds
 * missing migrations to core/db/landed.sha256.
 */
try {
  const database = await freshDatabase()
  await writeFile(FILE, await dumpSchema(database.admin))
  const table = await eventsTable(database.admin)
  const readme = await readFile(README, 'utf8')
  await writeFile(
    README,
    readme.replace(EVENTS_BLOCK, () => table),
  )
  await database.drop()
  const hashes = new Map([...(await migrationsNow()), ...(await landedMigrations())])
  const lines = [...hashes].map(([path, hash]) => `${hash}  ${path}\n`)
  await writeFile(LANDED, lines.join(''))
} finally {
  await stopSharedCluster()
}
