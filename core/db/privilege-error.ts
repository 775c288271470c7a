/** SQLSTATE of a statement for which the login lacks a right. */
const INSUFFICIENT_PRIVILEGE = '42501'

/** Returns true if an error, or one that caused it, reports that the login lacks a right. */
export const isPrivilegeError = (error: unknown): boolean =>
  error instanceof Error &&
  ((error as { code?: unknown }).code === INSUFFICIENT_PRIVILEGE || isPrivilegeError(error.cause))
