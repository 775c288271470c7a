import { sleep } from '../../core/clock.ts'

/** @throws Error when it is not so within about 30 seconds */
export async function eventually(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let n = 0; !(await isSo()); n += 1) {
    if (n > 1_500) throw new Error('it never came to be')
    await sleep(20)
  }
}
