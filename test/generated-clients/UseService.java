import com.google.gson.Gson;
import com.google.gson.JsonParser;
import commerce.ApiClient;
import commerce.ApiException;
import commerce.ApiResponse;
import commerce.api.CodesApi;
import commerce.api.ImportsApi;
import commerce.api.OperationsApi;
import commerce.api.OrdersApi;
import commerce.model.Order;
import commerce.model.OrderRequest;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Uses the Java client that OpenAPI Generator generates, and prints the results as JSON. */
class UseService {
  /** Where an operation takes CSV or JSON, the generated client would declare JSON. */
  private static final ApiClient client = new ApiClient() {
    @Override
    public String selectHeaderContentType(String[] types) {
      return List.of(types).contains("text/csv") ? "text/csv" : super.selectHeaderContentType(types);
    }
  };

  private static final OrdersApi orders = new OrdersApi(client);

  public static void main(String[] args) throws Exception {
    var service = JsonParser.parseReader(new InputStreamReader(System.in)).getAsJsonObject();
    client.setBasePath(service.get("base_url").getAsString());
    client.addDefaultHeader("Authorization", "Bearer " + service.get("token").getAsString());
    var created = create("first", 1999);
    var replayed = create("first", 1999);
    var ids = List.of(idOf(created), idOf(create("second", 1)), idOf(create("third", 2)));
    Map<String, Object> results = new LinkedHashMap<>();
    results.put("created", outcome(created));
    results.put("replayed", outcome(replayed));
    results.put("same", created.getData().equals(replayed.getData()));
    results.put("error", errorOfAnotherAmount());
    results.put("read", orders.readOrder(ids.get(1)).execute().getAmountMinor());
    results.put("orders", ids);
    results.put("pages", pages());
    results.put("customers", importCustomers());
    results.put("codes", addCodes());
    System.out.println(new Gson().toJson(results));
    System.exit(0); // The idle connections of OkHttp would keep the process for minutes.
  }

  private static ApiResponse<Order> create(String key, long amount) throws ApiException {
    var body = new OrderRequest().cartId("cart-1").amountMinor(amount).currency("EUR");
    return orders.createOrder(key, body).executeWithHttpInfo();
  }

  private static String idOf(ApiResponse<Order> response) {
    return response.getData().getId();
  }

  private static List<Object> outcome(ApiResponse<?> response) {
    return List.of(response.getStatusCode(), response.getHeaders().get("idempotency-status").get(0));
  }

  private static String errorOfAnotherAmount() throws IOException {
    try {
      create("first", 2000);
      return null;
    } catch (ApiException error) {
      return commerce.model.Error.fromJson(error.getResponseBody()).getError().getCode();
    }
  }

  private static List<List<String>> pages() throws ApiException {
    List<List<String>> pages = new ArrayList<>();
    for (String cursor = null; ; ) {
      var page = orders.listOrders().pageSize(2).cursor(cursor).execute();
      pages.add(page.getData().stream().map(Order::getId).toList());
      cursor = page.getNextCursor();
      if (cursor == null) return pages;
    }
  }

  private static Map<String, Object> importCustomers() throws Exception {
    var file = csv("email,name,country", "ada@example.com,Ada,GB", "nobody,Nobody,GB");
    var id = new ImportsApi(client).createImport(file).idempotencyKey("customers").execute().getOperationId();
    while (true) {
      var operation = new OperationsApi(client).readOperation(id).execute();
      var state = operation.getState();
      if (!List.of("pending", "running").contains(state))
        return Map.of("state", state, "result", Map.of("counts", operation.getResult().getCounts()));
      Thread.sleep(200);
    }
  }

  private static Map<String, Object> addCodes() throws Exception {
    var file = csv("code,type,name,expiry_at", "JAVA-10,percent-10,Sale,2099-01-01T00:00:00Z");
    return Map.of("counts", new CodesApi(client).importCodes("codes", file).execute().getCounts());
  }

  private static File csv(String... lines) throws IOException {
    var file = File.createTempFile("rows", ".csv");
    file.deleteOnExit();
    Files.writeString(file.toPath(), String.join("\n", lines) + "\n");
    return file;
  }
}
