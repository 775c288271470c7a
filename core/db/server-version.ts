import type { Client } from 'pg'
import { ConfigError } from '../runtime/config-error.ts'

/** Oldest major version of PostgreSQL that runs the migrations. */
const VERSION_MIN = 15
/** First major version with the collation `pg_c_utf8`, which migrations name. */
const VERSION_WITH_COLLATION = 17

/**
 * Checks the version of the server and creates what migrations use and older versions lack. Both
 * providers know the characters of Unicode, which is all that the collation is used for.
 * @throws ConfigError if the server is too old
 */
export async function prepareServer(client: Client): Promise<void> {
  const { rows } = await client.query<{ version: string; major: number }>(
    `SELECT current_setting('server_version') AS version,
       current_setting('server_version_num')::integer / 10000 AS major`,
  )
  const { version, major } = rows[0]!
  if (major < VERSION_MIN) {
    throw new ConfigError(
      `The database is PostgreSQL ${version}, and the hub needs version ${VERSION_MIN} or newer. ` +
        'Nothing was changed.',
    )
  }
  if (major < VERSION_WITH_COLLATION) await client.query(CREATE_COLLATION)
}

const CREATE_COLLATION = `DO $$ BEGIN
  IF to_regcollation('pg_c_utf8') IS NULL THEN
    BEGIN
      CREATE COLLATION public.pg_c_utf8 (provider = libc, locale = 'C.UTF-8');
    EXCEPTION WHEN undefined_object OR invalid_parameter_value OR wrong_object_type THEN
      CREATE COLLATION public.pg_c_utf8 (provider = icu, locale = 'und'); -- macOS, Alpine
    END;
  END IF;
END $$`
