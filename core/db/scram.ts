import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'

/** PostgreSQL's default of `scram_iterations`; the passwords verified here are random. */
const ITERATIONS = 4_096

/**
 * Computes the SCRAM verifier that PostgreSQL stores for a password (RFC 5803,
 * `pg_authid.rolpassword`), so that the password does not appear in the server's logs.
 * @param password ASCII only, which SASLprep leaves unchanged
 */
export function scramVerifier(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256')
  const keyed = (name: string): Buffer => createHmac('sha256', salted).update(name).digest()
  const stored = createHash('sha256').update(keyed('Client Key')).digest('base64')
  const server = keyed('Server Key').toString('base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${stored}:${server}`
}
