import { parseListQuery, type RouteListing } from '../platform/listing/list-query.ts'
import { codeStates } from './code-states.ts'
import { codeTextOf } from './code-text.ts'

/** The filters, search and sort orders of codes. */
export const codeListing: RouteListing = {
  parse: parseListQuery,
  entity: 'code',
  fields: {
    id: 'string',
    code: 'string',
    type: 'string',
    name: 'string',
    state: 'string',
    created_by: 'string',
    tenant_id: 'tenant',
    soft_deleted: 'boolean',
    expiry_at: 'date-time',
    created_at: 'date-time',
    updated_at: 'date-time',
  },
  allowed: (settings) => ({ type: Object.keys(settings['codes.types']), state: codeStates }),
  normalize: { code: codeTextOf, name: (text) => text.trim().normalize('NFC') },
  reveals: ({ field, values }) =>
    (field === 'soft_deleted' && values.includes(true)) ||
    (field === 'state' && values.includes('soft_deleted')),
  search: (settings) => settings['lists.searchFields'].codes,
  orders: { code: { entity: 'code_lock', idOf: ({ code_id }) => String(code_id) } },
}
