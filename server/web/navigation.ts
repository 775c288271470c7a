import type { Role } from '../../core/identity/roles.ts'
import type { IconName } from './icons.ts'

/** Group of pages in the sidebar. */
export interface TabGroup {
  readonly label: string
  readonly icon: IconName
  /** Paths by name. */
  readonly pages: Readonly<Record<string, string>>
}

export const MAIN_LINKS = {
  Services: '/services',
  Status: '/status',
  Docs: '/docs',
  Account: '/account',
}

/** Pages by the key that opens them after `g`. */
export const SHORTCUTS: Readonly<Record<string, readonly [name: string, path: string]>> = {
  s: ['Services', '/services'],
  t: ['Status', '/status'],
  d: ['Docs', '/docs'],
  a: ['Account', '/account'],
  k: ['Keys', '/account/keys'],
  c: ['Calls', '/account/calls'],
  h: ['History', '/account/history'],
  p: ['APIs you sell', '/provider/services'],
}

export const DOCS_TABS: TabGroup = {
  label: 'Docs',
  icon: 'book-open',
  pages: {
    'API reference': '/docs',
    'For agents': '/docs/agents',
    'For providers': '/docs/providers',
    'For finance': '/docs/finance',
    'For operators': '/docs/operations',
    Webhooks: '/docs/webhooks',
    'Error codes': '/docs/problems',
  },
}

export const ACCOUNT_TABS: TabGroup = {
  label: 'Build',
  icon: 'command-line',
  pages: {
    Overview: '/account',
    Keys: '/account/keys',
    Calls: '/account/calls',
    History: '/account/history',
    Documents: '/account/documents',
    Webhooks: '/account/webhooks',
    Notifications: '/account/notifications',
    Wallets: '/account/wallets',
    Sessions: '/account/sessions',
    Activity: '/account/activity',
  },
}

export const SELLING_TABS: TabGroup = {
  label: 'Sell',
  icon: 'building-storefront',
  pages: {
    Overview: '/provider',
    APIs: '/provider/services',
    Domains: '/provider/domains',
    Calls: '/provider/calls',
    Statistics: '/provider/statistics',
    Payouts: '/provider/payouts',
  },
}

export const FINANCE_TABS: TabGroup = {
  label: 'Finance',
  icon: 'scale',
  pages: {
    Overview: '/finance',
    Trends: '/finance/trends',
    Reports: '/finance/reports',
    'ETH and gas': '/finance/conversion',
    Documents: '/finance/documents',
    'Trial balance': '/finance/trial-balance',
    Journal: '/finance/journal',
    Adjustments: '/finance/adjustments',
    Receivables: '/finance/receivables',
    'Unusable credits': '/finance/unusable-credits',
    Transfers: '/finance/transfers',
    Exceptions: '/finance/exceptions',
    Payments: '/finance/payments',
    Periods: '/finance/periods',
    Exports: '/finance/exports',
    'Audit log': '/finance/audit',
  },
}

export const ADMIN_TABS: TabGroup = {
  label: 'Admin',
  icon: 'shield-check',
  pages: {
    Services: '/admin',
    Find: '/admin/find',
    Keys: '/admin/keys',
    Health: '/admin/health',
    Incidents: '/admin/incidents',
    Roles: '/admin/roles',
    'Access review': '/admin/access',
    Retention: '/admin/retention',
  },
}

/** Areas of the sidebar by role; anyone signed in may buy and sell. */
export const areasOf = (role: Role | undefined): readonly TabGroup[] => [
  ACCOUNT_TABS,
  SELLING_TABS,
  ...(role === undefined ? [] : [FINANCE_TABS]),
  ...(role === 'admin' ? [ADMIN_TABS] : []),
]
