import type { Route } from '#shared/platform/http/route.ts'
import { route as readHealth } from './health/read-health/route.ts'
import { route as createOrder } from './orders/create-order/route.ts'
import { route as listOrders } from './orders/list-orders/route.ts'
import { route as readOrder } from './orders/read-order/route.ts'

/** One operation of the service, and the folder of functions/ whose handler.ts answers it. */
export interface RouteEntry {
  route: Route
  folder: string
}

/** Every operation. From this table come the gateway, the rights, the API description, the alarms and the tests. */
export const routes: readonly RouteEntry[] = [
  { route: createOrder as Route, folder: 'orders/create-order' },
  { route: readOrder as Route, folder: 'orders/read-order' },
  { route: listOrders as Route, folder: 'orders/list-orders' },
  { route: readHealth as Route, folder: 'health/read-health' },
]
