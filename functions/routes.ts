import type { Route } from '#shared/platform/request/route.ts'
import { route as bulkUpdateCodes } from './codes/bulk-update-codes/route.ts'
import { route as createCode } from './codes/create-code/route.ts'
import { route as exportCodes } from './codes/export-codes/route.ts'
import { route as hardDeleteCode } from './codes/hard-delete-code/route.ts'
import { route as importCodes } from './codes/import-codes/route.ts'
import { route as listCodes } from './codes/list-codes/route.ts'
import { route as readCode } from './codes/read-code/route.ts'
import { route as replaceCode } from './codes/replace-code/route.ts'
import { route as restoreCode } from './codes/restore-code/route.ts'
import { route as shareCode } from './codes/share-code/route.ts'
import { route as softDeleteCode } from './codes/soft-delete-code/route.ts'
import { route as updateCode } from './codes/update-code/route.ts'
import { route as verifyDiscount } from './discounts/verify-discount/route.ts'
import { route as readHealth } from './health/read-health/route.ts'
import { route as createImport } from './imports/create-import/route.ts'
import { route as resetPassword } from './login/reset-password/route.ts'
import { route as signIn } from './login/sign-in/route.ts'
import { route as cancelOperation } from './operations/cancel-operation/route.ts'
import { route as readOperation } from './operations/read-operation/route.ts'
import { route as createOrder } from './orders/create-order/route.ts'
import { route as listOrders } from './orders/list-orders/route.ts'
import { route as readOrder } from './orders/read-order/route.ts'
import { route as requestOtp } from './otp/request-otp/route.ts'
import { route as verifyOtp } from './otp/verify-otp/route.ts'
import { route as createRefund } from './refunds/create-refund/route.ts'
import { route as readRefund } from './refunds/read-refund/route.ts'
import { route as receiveEvent } from './webhooks/receive-event/route.ts'
import { route as receiveStripeEvent } from './webhooks/receive-stripe-event/route.ts'

/** One operation of the service, and the folder under functions/ that holds its handler.ts. */
export interface RouteEntry {
  route: Route
  folder: string
  /** The folder of the handler.ts that serves several operations of one path. */
  sharedFunction?: string
}

/** All operations. The gateway, permissions, API description, alarms and tests are generated from this table. */
export const routes: readonly RouteEntry[] = [
  { route: createOrder, folder: 'orders/create-order' },
  { route: readOrder, folder: 'orders/read-order' },
  { route: listOrders, folder: 'orders/list-orders' },
  { route: createRefund, folder: 'refunds/create-refund' },
  { route: readRefund, folder: 'refunds/read-refund' },
  { route: receiveEvent, folder: 'webhooks/receive-event' },
  { route: receiveStripeEvent, folder: 'webhooks/receive-stripe-event' },
  { route: createCode, folder: 'codes/create-code' },
  { route: readCode, folder: 'codes/read-code' },
  { route: listCodes, folder: 'codes/list-codes' },
  { route: updateCode, folder: 'codes/update-code', sharedFunction: 'codes/change-code' },
  { route: replaceCode, folder: 'codes/replace-code', sharedFunction: 'codes/change-code' },
  { route: softDeleteCode, folder: 'codes/soft-delete-code', sharedFunction: 'codes/delete-code' },
  { route: hardDeleteCode, folder: 'codes/hard-delete-code', sharedFunction: 'codes/delete-code' },
  { route: restoreCode, folder: 'codes/restore-code', sharedFunction: 'codes/act-on-code' },
  { route: shareCode, folder: 'codes/share-code', sharedFunction: 'codes/act-on-code' },
  { route: exportCodes, folder: 'codes/export-codes' },
  { route: importCodes, folder: 'codes/import-codes' },
  { route: bulkUpdateCodes, folder: 'codes/bulk-update-codes' },
  { route: verifyDiscount, folder: 'discounts/verify-discount' },
  { route: requestOtp, folder: 'otp/request-otp' },
  { route: verifyOtp, folder: 'otp/verify-otp' },
  { route: signIn, folder: 'login/sign-in' },
  { route: resetPassword, folder: 'login/reset-password' },
  { route: createImport, folder: 'imports/create-import' },
  { route: readOperation, folder: 'operations/read-operation' },
  { route: cancelOperation, folder: 'operations/cancel-operation' },
  { route: readHealth, folder: 'health/read-health' },
]

/** Returns the name of a route's function and the folder of its handler.ts. */
export function functionOf({ route, folder, sharedFunction }: RouteEntry): { name: string; folder: string } {
  if (sharedFunction === undefined) return { name: route.operation, folder }
  return { name: sharedFunction.replace('/', '.'), folder: sharedFunction }
}
