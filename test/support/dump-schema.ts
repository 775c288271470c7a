import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freshDatabase, stopSharedCluster } from './postgres.ts'
import { dumpSchema } from './schema-text.ts'

const FILE = join(import.meta.dirname, '../../core/db/schema.sql')

/** Writes core/db/schema.sql anew from the migrations: `npm run db:dump`. */
try {
  const database = await freshDatabase()
  await writeFile(FILE, await dumpSchema(database.admin))
  await database.drop()
} finally {
  await stopSharedCluster()
}
