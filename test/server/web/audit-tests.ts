import { expect } from 'chai'
import { dayName, systemClock } from '../../../core/clock.ts'
import type { TestHub } from '../../support/hub.ts'
import type { Person } from '../../support/person.ts'
import type { useTabs } from './tabs.ts'

/** Tests of the audit log: changes by members, verification and its button. */
export function auditTests(
  hub: () => TestHub,
  tabs: ReturnType<typeof useTabs>,
  person: () => Person,
): void {
  for (const scripts of [true, false]) {
    const how = scripts ? 'with' : 'without'
    it(`the audit log shows changes and is verified by a button, ${how} JavaScript`, async () => {
      const tab = await tabs.open({ scripts, cookie: person().cookie })
      const { admin: owner } = hub().database
      const setReason = async (expression: string) => {
        await owner.query('ALTER TABLE hub.audit DISABLE TRIGGER append_only')
        await owner.query(`UPDATE hub.audit SET reason = ${expression} WHERE seq = 1`)
        await owner.query('ALTER TABLE hub.audit ENABLE TRIGGER append_only')
      }
      const day = dayName(systemClock.now())
      const adjustment = { debit: 'expenses:free-tier', credit: 'equity:opening', amount: '0.02' }
      await tab.go('/finance/adjustments')
      await tab.send('adjust', { ...adjustment, value_date: day, reason: 'a test' })
      await tab.go('/finance/audit?act=entry.adjust')
      expect(await tab.text())
        .to.include('amount: 0.020000 USDC')
        .and.to.include(`value date: ${day}`)
      await tab.send('prove')
      expect(await tab.text()).to.include('Verified: no line was changed')
      await setReason(`reason || '!'`)
      await tab.go('/finance/audit')
      expect(await tab.text(), 'says when it was verified').to.match(/All lines verified at 20/)
      await tab.send('prove')
      expect(await tab.text()).to.include('Line 1 was changed after')
      await setReason('left(reason, -1)')
      await tab.close()
    })
  }
}
