import { ACCOUNT_TABS, FINANCE_TABS, SELLING_TABS } from '../../server/web/navigation.ts'
import type { Random } from '../conservation/random.ts'
import { openTestSites } from '../core/catalog/fixture.ts'
import { createAdmin } from '../server/rest/finance/fixture.ts'
import { createStaff, createVisitor } from '../server/staff/fixture.ts'
import { openAccount } from '../server/web/account-fixture.ts'
import type { startTestHub, TestHub } from '../support/hub.ts'
import { openSeller } from '../support/screenshots-seller.ts'
import { openStaff } from '../support/screenshots-staff.ts'
import { fuzzPages, type PageFindings } from './pages.ts'

const pagesOf = (...areas: readonly { readonly pages: Readonly<Record<string, string>> }[]) =>
  areas.flatMap((area) => Object.values(area.pages))
const PUBLIC = ['/', '/services', '/status', '/topup', '/docs', '/go?q=key', '/compare?id=echo']

/** Opens sites and an administrator for the options of a hub. */
export async function preparePageHub() {
  const sites = await openTestSites()
  const admin = createAdmin()
  const config = {
    sandboxHosts: sites.sandboxHosts,
    admins: [admin.wallet],
    jobs: true,
    proxies: 1,
  } satisfies NonNullable<Parameters<typeof startTestHub>[0]>['config']
  return { sites, admin, config }
}

/** Fills a hub with the data of an account, a seller and staff, and fuzzes the pages of each. */
export async function fuzzPagesOf(
  hub: TestHub,
  { sites, admin }: Awaited<ReturnType<typeof preparePageHub>>,
  random: Random,
  perPage: number,
): Promise<PageFindings> {
  const account = await openAccount(hub, sites)
  const seller = await openSeller(hub, sites, account)
  const { staff, paths } = await openStaff(hub, admin, account)
  const finance = await createStaff(hub, admin, 'fin@house.example', 'finance')
  const other = await createVisitor(hub, 'other@house.example')
  const foreign = await other.ask('/v1/keys', { body: { name: 'Foreign secret name' } })
  const buyer = [...account.paths, ...seller, ...pagesOf(ACCOUNT_TABS, SELLING_TABS), ...PUBLIC]
  const secret = ['Foreign secret name', 'other@house.example']
  return fuzzPages({
    url: hub.url,
    random,
    perPage,
    ids: [String(foreign.body['key_id']), account.keyId, 'harbor-maps'],
    roles: [
      { name: 'owner', cookie: account.person.cookie, paths: buyer, foreign: secret },
      {
        name: 'newcomer',
        cookie: other.cookie,
        paths: [...pagesOf(ACCOUNT_TABS, SELLING_TABS), ...PUBLIC],
        foreign: ['ada@example.test', 'Research agents', 'Press review'],
      },
      { name: 'finance', cookie: finance.cookie, paths: pagesOf(FINANCE_TABS), foreign: [] },
      { name: 'admin', cookie: staff.cookie, paths, foreign: [] },
    ],
  })
}
