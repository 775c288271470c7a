import { expect } from 'chai'
import { load } from 'cheerio'
import { composeIncidentMail } from '../../../core/catalog/services/incident-mail.ts'
import { ask } from '../../support/ask.ts'
import type { TestHub } from '../../support/hub.ts'
import type { Person } from '../../support/person.ts'
import { createVisitor } from '../staff/fixture.ts'
import type { useTabs } from './tabs.ts'

/** Queued mails about incidents to an address; undefined: not sent any more. */
async function mailsTo(hub: TestHub, email: string) {
  const { rows } = await hub.database.admin.query<{ subject: string }>(
    `SELECT subject_id AS subject FROM hub.mail
     WHERE template = 'incident' AND recipient = $1 ORDER BY id`,
    [email],
  )
  const compose = (seq: string) => composeIncidentMail(hub.hub.pool, email, seq, hub.url)
  return Promise.all(rows.map(({ subject }) => compose(subject)))
}

/** Tests of what administrators decide and publish, with and without scripts. */
export function adminTests(
  hub: () => TestHub,
  tabs: ReturnType<typeof useTabs>,
  admin: () => Person,
): void {
  for (const scripts of [true, false]) {
    const how = scripts ? 'with' : 'without'

    it(`an incident is published with its updates and its author, ${how} JavaScript`, async () => {
      const title = `Slow payments ${how} scripts`
      const reader = await createVisitor(hub(), `reader-${how}@else.example`)
      const subscribed = await tabs.open({ scripts, cookie: reader.cookie })
      await subscribed.go('/account/notifications')
      expect(await subscribed.send('incidents')).to.include('You get incidents by email.')
      const tab = await tabs.open({ scripts, cookie: admin().cookie })
      await tab.page.setCacheEnabled(false) // public pages are cached for seconds
      await tab.go('/admin/incidents')
      const report = { title, message: 'Payments take longer.', reason: 'an alert' }
      expect(await tab.send('report', { ...report, service: 'nowhere' })).to.include('Not saved')
      expect(await tab.send('report', { ...report, service: 'echo' }))
        .to.include('Incident published')
        .and.to.include(title)
      expect(await tab.send('report', { ...report, service: 'echo' }), 'sent twice').to.include(
        'Is that of an open incident',
      )
      await tab.go('/status')
      const box = await tab.page.$eval('main > .box', (each) => each.textContent)
      expect(box).to.include(title).and.to.include('Payments take longer.')
      await tab.go('/admin/incidents')
      const end = { state: 'resolved', message: 'Payments are fast again.', reason: 'it is over' }
      expect(await tab.send('update', end)).to.include('Update published')
      await tab.go('/status')
      expect(await tab.page.$eval('main > .box', (each) => each.textContent)).not.to.include(title)
      const { text } = await ask(hub().url, '/status/incidents.xml')
      const feed = load(text, { xml: true })
      const items = feed(`item:contains("${title}")`).toArray()
      expect(items.map((item) => feed(item).find('title').text())).to.deep.equal([
        `${title}: resolved`,
        `${title}: investigating`,
      ])
      const mails = await mailsTo(hub(), reader.email)
      expect(mails.map((mail) => mail?.subject.split(': ')[1])).to.deep.equal([
        `${title} (investigating)`,
        `${title} (resolved)`,
      ])
      expect(mails[1]?.text).to.include('Payments are fast again.').and.to.include('/status#inc_')
      expect(await subscribed.send('incidents')).to.include('no more incidents')
      expect(await mailsTo(hub(), reader.email)).to.deep.equal([undefined, undefined])
      await subscribed.close()
      await tab.go('/finance/audit?act=incident.update')
      expect(await tab.text())
        .to.include(admin().email)
        .and.to.include('Payments are fast again.')
      await tab.close()
    })

    it(`a version is approved after a look at its changes, ${how} JavaScript`, async () => {
      const slug = `reviewed-${how}`
      const owner = await createVisitor(hub(), `${slug}@else.example`)
      const sell = (path: string, method: string, body?: object) =>
        owner.ask(`/v1/provider/services${path}`, { method, ...(body && { body }) })
      // Its name claims to speak for somebody, so that every version is reviewed.
      const service = {
        slug,
        name: 'Official Tides',
        category: 'data',
        summary: 'Tides by harbor.',
      }
      const made = await sell('', 'POST', { ...service, base_url: 'https://api.acme.com' })
      expect(made.status, made.text).to.equal(201)
      const endpoint = { method: 'GET', path: '/tides', summary: 'Tides.' }
      const endpoints = [{ ...endpoint, price_microdollars: 3_000 }]
      await sell(`/${slug}/endpoints`, 'PUT', { endpoints })
      const sent = await sell(`/${slug}/activate`, 'POST', { waive_tests: true })
      expect(sent.body['state'], sent.text).to.equal('pending')

      const tab = await tabs.open({ scripts, cookie: admin().cookie })
      const shownPrice = async () =>
        (await ask(hub().url, `/proxy/${slug}/tides?dry_run`, { method: 'GET' })).body[
          'price_microdollars'
        ]
      const decide = async (decision: string) => {
        await tab.go('/admin?only=pending')
        await Promise.all([
          tab.page.waitForNavigation(),
          tab.page.click(`main a[href*="slug=${slug}"]`),
        ])
        const changes = await tab.text()
        return [changes, await tab.send(decision, { reason: 'looked at it' })] as const
      }
      await tab.go(`/admin?slug=${slug}`)
      expect(await tab.text(), 'what a suspension stops').to.match(
        /Stops \d services?\. Last \d+ days:\s+\d+ calls?/,
      )
      const [first, approved] = await decide('approve')
      expect(first).to.include('Held for review').and.to.include('Tides by harbor.')
      expect(approved).to.include('Version approved')
      expect(await shownPrice()).to.equal(3_000)

      await sell(`/${slug}`, 'PATCH', { summary: 'Tides by harbor and day.' })
      const [second, refused] = await decide('refuse')
      expect(second, 'before').to.include('Tides by harbor.')
      expect(second, 'after').to.include('Tides by harbor and day.')
      expect(refused).to.include('Version refused')
      const { body } = await ask(hub().url, `/v1/services/${slug}`)
      expect(body['summary'], 'callers see the approved version').to.equal('Tides by harbor.')
      await tab.close()
    })
  }
}
