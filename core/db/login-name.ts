import { createHash } from 'node:crypto'

/** Purpose of a login of the hub. */
export type LoginPurpose = 'serving' | 'finance'

const NAME_MAX = 50
/** Database whose logins would have the names of the hub's roles, such as `hub_finance`. */
const RESERVED = 'hub'

/** Returns the name of a login: roles belong to a server, which may have several hubs. */
export const loginName = (database: string, purpose: LoginPurpose): string =>
  Buffer.byteLength(database) <= NAME_MAX && database !== RESERVED
    ? `${database}_${purpose}`
    : `hub_${createHash('sha256').update(database).digest('hex').slice(0, 16)}_${purpose}`
