// Prints the hashes that tests/core/test_row_draws.py compares with: jshell -s row_hashes.jsh
import java.util.SplittableRandom;  // the authors' own SplitMix64

long hash(long row, long... numbers) {
    long key = 0;
    for (long number : numbers) key = new SplittableRandom(key ^ number).nextLong();
    var outputs = new SplittableRandom(key);
    for (long i = 0; i < row; i++) outputs.nextLong();
    return outputs.nextLong();
}

void print(long row, long... numbers) {
    System.out.println(row + ": " + Long.toUnsignedString(hash(row, numbers)));
}

print(0, 0, 1);
print(1, 0, 1);
print(99999, 2147483647, 1);
print(7, 5, 2, 0);
print(7, 5, 2, 1);
print(7, 5, 3);
print(7, 5, 4, 1, 2, 0);
/exit
