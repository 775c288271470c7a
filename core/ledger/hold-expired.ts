import { Fault } from '../errors.ts'

/** The hold was released before its call was settled: nothing is charged or delivered. */
export class HoldExpired extends Fault {
  constructor() {
    super('service_unavailable', 'The call outlasted its hold. Nothing was charged; try again.', {
      extras: { reason: 'hold_expired' },
    })
  }
}
