import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'

/** PostgreSQL's own number (scram_iterations); what is verified here is random in any case. */
const ITERATIONS = 4_096

/**
 * What PostgreSQL keeps to verify a password by (RFC 5803, as `pg_authid.rolpassword` has it). A
 * role is given this instead of the password, which then stands in no log of the server.
 * @param password of ASCII alone, which SASLprep leaves as it is
 */
export function scramVerifier(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256')
  const keyed = (name: string): Buffer => createHmac('sha256', salted).update(name).digest()
  const stored = createHash('sha256').update(keyed('Client Key')).digest('base64')
  const server = keyed('Server Key').toString('base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${stored}:${server}`
}
