import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Unprivileged user of the operating system. */
export interface UnixUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** Returns true if `user` can enter the directory. */
export const canEnter = (user: UnixUser, folder: string): Promise<boolean> =>
  hasAccess(user, 'test -x "$0"', folder)

/** Returns true if `user` can read the file. */
export const canRead = (user: UnixUser, file: string): Promise<boolean> =>
  hasAccess(user, 'test -r "$0"', file)

/** Runs a process as `user`, because ACLs count. */
const hasAccess = ({ uid, gid }: UnixUser, script: string, path: string): Promise<boolean> =>
  run('/bin/sh', ['-c', script, path], { uid, gid, cwd: '/' }).then(
    () => true,
    () => false,
  )
