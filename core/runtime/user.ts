import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** An unprivileged identity, as `keep` takes it. */
export interface User {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** Whether `user` can read and enter the directory: asked of the kernel, since ACLs count too. */
export const mayReach = (user: User, folder: string): Promise<boolean> =>
  run('/bin/sh', ['-c', 'test -x "$0"', folder], { uid: user.uid, gid: user.gid, cwd: '/' }).then(
    () => true,
    () => false,
  )
