import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Unprivileged user of the operating system. */
export interface UnixUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** Returns true if `user` can enter the directory. Runs a process as `user`, because ACLs count. */
export const canEnter = (user: UnixUser, folder: string): Promise<boolean> =>
  run('/bin/sh', ['-c', 'test -x "$0"', folder], { uid: user.uid, gid: user.gid, cwd: '/' }).then(
    () => true,
    () => false,
  )
